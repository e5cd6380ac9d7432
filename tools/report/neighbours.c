/* SPDX-License-Identifier: Apache-2.0 */
/* What --callers and --callees ask for: which functions call one, and which it calls. */
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "../base/fit.h"
#include "../base/print.h"
#include "../model/frame_text.h"
#include "../view/summary.h"
#include "report.h"
#include "rows.h"
#include "sums_json.h"

#define FIGURES_WIDTH 19 /* of a row, before its text */
#define NO_CALLER     "(none: it is outermost)"
#define ITSELF        "itself"
#define NAMES_SHOWN   3

/* Returns, by frame, whether its text matches; is the pattern itself, if nothing matches: a name out of a table has
 * parentheses. The caller frees. */
static bool *frames_with(const struct pt_profile *profile, const char *pattern)
{
    regex_t regex;
    bool *matching = pt_alloc(profile->frames.count, sizeof *matching), any = false;
    PT_AUTO_BUFFER text = {0};
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return matching;
    for (unsigned literal = 0; literal < 2 && !any; literal++)
        for (uint32_t i = 0; i < profile->frames.count; i++) {
            pt_buffer_clear(&text);
            pt_frame_text(&text, profile, i, false);
            matching[i] = literal ? strcmp(text.data, pattern) == 0 : regexec(&regex, text.data, 0, NULL, 0) == 0;
            any |= matching[i];
        }
    regfree(&regex);
    return matching;
}

/* Appends what the pattern has found: the names of functions, each once, or that there is none. */
static void append_found(struct pt_buffer *line, const struct pt_report *report, const char *pattern)
{
    PT_AUTO_FREE bool *matching = frames_with(report->profile, pattern);
    PT_AUTO_FREE uint32_t *texts = pt_frame_texts(report->profile, false);
    PT_AUTO_FREE bool *said = pt_alloc(report->profile->strings.count, sizeof *said);
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->profile->frames.count; i++) {
        if (!matching[i] || said[texts[i]])
            continue;
        said[texts[i]] = true;
        if (count++ < NAMES_SHOWN)
            pt_buffer_format(line, "%s%s", count > 1 ? ", " : "", pt_string(report->profile, texts[i]));
    }
    if (count > NAMES_SHOWN)
        pt_buffer_format(line, " and %" PRIu32 " more that match %s", count - NAMES_SHOWN, pattern);
}

/* Returns, by node, the text of the neighbour for which its CPU time counts, a string; 0: the function is not in the
 * stack. Of a recursive function the caller is that of its outermost call, the callee that of its innermost: so all of
 * its CPU time is given out once. */
static uint32_t *neighbours_of(struct pt_profile *profile, const bool *matching, const uint32_t *texts, bool callers)
{
    uint32_t *of_node = pt_alloc(profile->nodes.count, sizeof *of_node);
    uint32_t none = pt_intern_text(profile, NO_CALLER), itself = pt_intern_text(profile, ITSELF);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        uint32_t above = of_node[node->parent];
        if (callers)
            of_node[i] = above                    ? above
                         : !matching[node->frame] ? 0
                         : node->parent           ? texts[profile->nodes.items[node->parent].frame]
                                                  : none;
        else
            of_node[i] = matching[node->frame] ? itself : above == itself ? texts[node->frame] : above;
    }
    return of_node;
}

/* Returns a row for each neighbour, with its CPU time in self_ns; the caller frees. *sum_ns: that of all. */
static struct pt_total *rows_of(const struct pt_report *report, const char *pattern, bool callers, uint32_t *count,
                                uint64_t *sum_ns)
{
    struct pt_profile *profile = report->profile;
    PT_AUTO_FREE bool *matching = frames_with(profile, pattern);
    PT_AUTO_FREE uint32_t *texts = pt_frame_texts(profile, report->cli->lines);
    PT_AUTO_FREE uint32_t *neighbours = neighbours_of(profile, matching, texts, callers);
    struct pt_total *rows = pt_alloc(profile->strings.count, sizeof *rows); /* by text */
    *sum_ns = *count = 0;
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        uint32_t text = neighbours[sample->node];
        rows[text].self_ns += text ? sample->cpu_ns : 0;
        *sum_ns += text ? sample->cpu_ns : 0;
    }
    for (uint32_t i = 1; i < profile->strings.count; i++)
        if (rows[i].self_ns)
            rows[(*count)++] = (struct pt_total){.text = i, .self_ns = rows[i].self_ns};
    pt_rows_sort(rows, *count, false);
    return rows;
}

static void print_table(const struct pt_report *report, const char *pattern, bool callers)
{
    uint32_t count, columns = pt_print_row_columns(stdout), shown = 0;
    uint64_t sum_ns, rest_ns = 0;
    PT_AUTO_FREE struct pt_total *rows = rows_of(report, pattern, callers, &count, &sum_ns);
    PT_AUTO_BUFFER found = {0};
    append_found(&found, report, pattern);
    putchar('\n');
    if (!found.length) {
        pt_print_paragraph(0, 2,
                           "No function matches '%s', a regular expression: parentheses and brackets of a name need a "
                           "backslash. 'pyprof report functions' lists names.",
                           pattern);
        return;
    }
    pt_print_paragraph(0, 2, "%s of %s: %.2f s, %.1f %% of the CPU time, in total:", callers ? "Callers" : "Callees",
                       found.data, pt_seconds(sum_ns), pt_percent(sum_ns, report->whole_ns));
    for (; shown < count && shown < report->top; shown++) {
        double percent = pt_percent(rows[shown].self_ns, sum_ns);
        PT_AUTO_BUFFER text = {0};
        pt_print_styled(stdout, pt_style_of_share(percent), "%7.2f s %5.1f %%", pt_seconds(rows[shown].self_ns),
                        percent);
        pt_fit_frame(&text, pt_string(report->profile, rows[shown].text), columns - FIGURES_WIDTH);
        printf("  %s\n", text.data);
    }
    for (uint32_t i = shown; i < count; i++)
        rest_ns += rows[i].self_ns;
    if (shown < count)
        printf("%7.2f s %5.1f %%  and %" PRIu32 " more (--top %" PRIu32 ")\n", pt_seconds(rest_ns),
               pt_percent(rest_ns, sum_ns), count - shown, count);
}

void pt_report_neighbours(const struct pt_report *report)
{
    if (report->cli->callers)
        print_table(report, report->cli->callers, true);
    if (report->cli->callees)
        print_table(report, report->cli->callees, false);
}

static void put_rows(const struct pt_report *report, const char *key, const char *pattern, bool callers,
                     struct pt_json *json)
{
    uint32_t count;
    uint64_t sum_ns;
    PT_AUTO_FREE struct pt_total *rows = rows_of(report, pattern, callers, &count, &sum_ns);
    pt_json_begin(json, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        pt_json_begin(json, NULL, '{');
        pt_json_string(json, "text", report->profile, rows[i].text);
        pt_json_number(json, "cpu_ns", rows[i].self_ns);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
}

void pt_report_neighbours_json(const struct pt_report *report, struct pt_json *json)
{
    if (report->cli->callers)
        put_rows(report, "callers", report->cli->callers, true, json);
    if (report->cli->callees)
        put_rows(report, "callees", report->cli->callees, false, json);
}
