/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time by package: code of the standard library, of the interpreter and of other libraries counts for the package
 * that calls it. */
#include <stdio.h>
#include <stdlib.h>

#include "../base/print.h"
#include "../query/group.h"
#include "../query/package.h"
#include "../view/summary.h"
#include "report.h"
#include "rows.h"
#include "sums_json.h"

#define NO_PACKAGE  "(no package)"
#define LISTED_FROM 1.0 /* per cent, in the short sum */
#define MAX_LISTED  6

/* Moves rows with time, which are at the numbers of their texts, to the beginning. Returns how many there are. */
static uint32_t gather(struct pt_total *rows, uint32_t texts)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < texts; i++) {
        struct pt_total row = rows[i];
        row.text = i;
        row.frame = PT_NONE;
        if (row.self_ns)
            rows[count++] = row;
    }
    return count;
}

/* Returns *count rows, one for each package. The caller frees. */
static struct pt_total *package_rows(struct pt_profile *profile, struct pt_view *view, uint32_t *count)
{
    uint32_t none = pt_intern_text(profile, NO_PACKAGE), room = view->nodes.count;
    PT_AUTO_FREE uint32_t *packages = pt_alloc(room, sizeof *packages);
    for (uint32_t i = 1; i < room; i++) {
        struct pt_view_node *node = &view->nodes.items[i];
        packages[i] = pt_package_with(profile, node->frame, packages[node->parent]);
        if (node->frame != PT_NONE)
            node->text = pt_package_of(profile, node->frame);
    }
    PT_AUTO_FREE struct pt_total *totals = pt_view_totals(profile, view, count);
    struct pt_total *rows = pt_alloc(profile->strings.count, sizeof *rows); /* by package */
    for (uint32_t i = 0; i < room; i++) {
        struct pt_total *row = &rows[packages[i] ? packages[i] : none];
        row->self_ns += view->nodes.items[i].ns;
        row->self_count += view->nodes.items[i].count;
    }
    for (uint32_t i = 0; i < *count; i++) {
        rows[totals[i].text].total_ns = totals[i].total_ns;
        rows[totals[i].text].total_count = totals[i].total_count;
    }
    rows[none].total_ns = rows[none].self_ns;
    rows[none].total_count = rows[none].self_count;
    *count = gather(rows, profile->strings.count);
    return rows;
}

/* Returns whether installed packages took as much as is listed. */
static bool has_installed(const struct pt_report *report)
{
    const struct pt_profile *profile = report->profile;
    PT_AUTO_FREE bool *installed = pt_alloc(profile->nodes.count, sizeof *installed);
    bool *of_frame = pt_alloc(profile->frames.count, sizeof *of_frame);
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < profile->frames.count; i++)
        of_frame[i] = pt_has_package(profile, i) && !pt_is_application(profile, i);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        installed[i] = installed[node->parent] || of_frame[node->frame];
    }
    free(of_frame);
    for (uint32_t i = 0; i < profile->samples.count; i++)
        sum_ns += installed[profile->samples.items[i].node] ? profile->samples.items[i].cpu_ns : 0;
    return pt_percent(sum_ns, report->whole_ns) >= LISTED_FROM;
}

/* Makes rows like package_rows does, of all samples and without totals: this takes no call tree. */
static struct pt_total *self_rows(struct pt_profile *profile, uint32_t *count)
{
    uint32_t none = pt_intern_text(profile, NO_PACKAGE);
    PT_AUTO(pt_group_free) struct pt_group group = pt_group_by(profile, "package");
    struct pt_total *rows = pt_alloc(profile->strings.count, sizeof *rows); /* by package */
    for (PT_EACH(const struct pt_sample, sample, &profile->samples))
        if (sample->node) /* node 0: time that stacks have, too (PT_KEEP_STACKS) */
            rows[pt_group_value(&group, sample) ?: none].self_ns += sample->cpu_ns;
    *count = gather(rows, profile->strings.count);
    return rows;
}

void pt_report_package_sums(const struct pt_report *report)
{
    if (!has_installed(report))
        return;
    uint32_t count;
    PT_AUTO_FREE struct pt_total *rows = self_rows(report->profile, &count);
    PT_AUTO_BUFFER text = {0};
    pt_rows_sort(rows, count, false);
    for (uint32_t i = 0; i < count && i < MAX_LISTED; i++) {
        double share = pt_percent(rows[i].self_ns, report->whole_ns);
        if (share < LISTED_FROM)
            break;
        pt_buffer_format(&text, "%s %s %.1f %%", i ? "," : "", pt_string(report->profile, rows[i].text), share);
    }
    putchar('\n');
    pt_print_paragraph(0, 2, "By package:%s (all: --by package)", text.length ? text.data : "");
}

void pt_report_packages_json(const struct pt_report *report, struct pt_json *json)
{
    const struct pt_view_options options = {.only_process = PT_NONE, .only_thread = PT_NONE};
    struct pt_view *view = pt_view_new(report->profile, &options);
    struct pt_rows rows = pt_rows_of_view(report, view, true);
    rows.items = package_rows(report->profile, view, &rows.count);
    pt_view_free(view);
    uint32_t most = report->cli->top ? report->cli->top : UINT32_MAX;
    pt_rows_sort(rows.items, rows.count, pt_rows_by_total(report, false));
    pt_json_begin(json, "packages", '[');
    for (uint32_t i = 0; i < rows.count && i < most; i++) {
        pt_json_begin(json, NULL, '{');
        pt_json_string(json, "name", report->profile, rows.items[i].text);
        pt_rows_put_times(json, &rows, &rows.items[i]);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
    free(rows.items);
}
