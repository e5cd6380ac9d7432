/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/fit.h"
#include "../base/print.h"
#include "../view/summary.h"
#include "../view/uncertainty.h"

#define FIGURES_WIDTH 28 /* of a row, before its text, without --ci */

PT_DEFINE_ORDER(by_self, struct pt_total,
                pt_compare(y->self_ns, x->self_ns) ?: pt_compare(y->total_ns, x->total_ns)
                    ?: pt_compare(x->text, y->text))

PT_DEFINE_ORDER(by_total, struct pt_total, pt_compare(y->total_ns, x->total_ns) ?: by_self(a, b))

void pt_rows_sort(struct pt_total *rows, uint32_t count, bool total)
{
    qsort(rows, count, sizeof *rows, total ? by_total : by_self);
}

bool pt_rows_by_total(const struct pt_report *report, bool by_default)
{
    return report->cli->sort ? strcmp(report->cli->sort, "total") == 0 : by_default;
}

static bool is_function(const struct pt_report *report, const struct pt_total *row)
{
    return row->frame == PT_NONE || report->profile->frames.items[row->frame].kind != PP_FRAME_PSEUDO;
}

struct pt_rows pt_rows_of_view(const struct pt_report *report, const struct pt_view *view, bool all)
{
    struct pt_rows rows = {.whole_ns = report->whole_ns, .draws = report->draws};
    if (!all) {
        rows.whole_ns = rows.draws.ns = view->nodes.items[0].total_ns;
        rows.draws.count = view->nodes.items[0].total_count;
    }
    return rows;
}

static void print_row(const struct pt_report *report, const struct pt_rows *rows, const struct pt_total *row,
                      bool by_total)
{
    double self = pt_percent(row->self_ns, rows->whole_ns), total = pt_percent(row->total_ns, rows->whole_ns);
    PT_AUTO_BUFFER text = {0};
    struct pt_share share = pt_share_of(&rows->draws, by_total ? row->total_count : row->self_count,
                                        by_total ? row->total_ns : row->self_ns, rows->whole_ns);
    uint32_t used = FIGURES_WIDTH + (report->cli->ci ? PT_INTERVAL_WIDTH : 0);
    enum pt_style style = is_function(report, row) && share.known ? PT_STYLE_PLAIN : PT_STYLE_FAINT;
    pt_print_styled(stdout, style ?: pt_style_of_share(by_total ? 0 : self), "%7.2f s %5.1f %%",
                    pt_seconds(row->self_ns), self);
    if (!by_total && report->cli->ci)
        pt_print_interval(&share);
    pt_print_styled(stdout, style ?: pt_style_of_share(by_total ? total : 0), "  %5.1f %%", total);
    if (by_total && report->cli->ci)
        pt_print_interval(&share);
    fputs("  ", stdout);
    pt_fit_frame(&text, pt_string(report->profile, row->text), pt_print_row_columns(stdout) - used);
    pt_print_styled(stdout, style, "%s", text.length ? text.data : "");
    putchar('\n');
}

static void print_heading(const struct pt_report *report, const struct pt_rows *rows, bool by_total)
{
    const char *interval = report->cli->ci ? PT_INTERVAL_HEADING : "";
    PT_AUTO_BUFFER title = pt_formatted("%s%s", rows->title, by_total ? ", by total" : "");
    pt_print_styled(stdout, PT_STYLE_HEADING, "\n%17s%s%9s%s  ", "SELF", by_total ? "" : interval, "TOTAL",
                    by_total ? interval : "");
    pt_print_text(stdout, title.data, FIGURES_WIDTH + (uint32_t)strlen(interval), PT_STYLE_HEADING);
}

void pt_rows_print(const struct pt_report *report, const struct pt_rows *rows)
{
    bool total = pt_rows_by_total(report, rows->by_total);
    uint32_t most = report->top, shown = 0, hidden = 0;
    uint64_t hidden_ns = 0;
    double least = report->cli->top ? PT_HIDDEN_BELOW : rows->least > PT_HIDDEN_BELOW ? rows->least : PT_HIDDEN_BELOW;
    pt_rows_sort(rows->items, rows->count, total);
    for (PT_EACH(const struct pt_total, row, rows)) {
        if (shown >= most || pt_percent(total ? row->total_ns : row->self_ns, rows->whole_ns) < least) {
            hidden++;
            hidden_ns += row->self_ns;
            continue;
        }
        if (!shown++)
            print_heading(report, rows, total);
        print_row(report, rows, row, total);
    }
    if (!shown || !hidden)
        return;
    int before_text = FIGURES_WIDTH - PT_REST_WIDTH + (report->cli->ci ? PT_INTERVAL_WIDTH : 0);
    if (pt_percent(hidden_ns, rows->whole_ns) >= PT_HIDDEN_BELOW)
        printf("%7.2f s %5.1f %%", pt_seconds(hidden_ns), pt_percent(hidden_ns, rows->whole_ns));
    else
        printf("%*s", PT_REST_WIDTH, "");
    printf("%*sand %u more (--top %u)\n", before_text, "", hidden, shown + hidden);
}

void pt_rows_put_times(struct pt_json *json, const struct pt_rows *rows, const struct pt_total *row)
{
    struct pt_share self = pt_share_of(&rows->draws, row->self_count, row->self_ns, rows->whole_ns);
    struct pt_share total = pt_share_of(&rows->draws, row->total_count, row->total_ns, rows->whole_ns);
    pt_json_number(json, "self_ns", row->self_ns);
    pt_json_bounds(json, "self_low", "self_high", &self);
    pt_json_number(json, "total_ns", row->total_ns);
    pt_json_bounds(json, "total_low", "total_high", &total);
}
