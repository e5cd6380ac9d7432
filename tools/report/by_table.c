/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what --by asks for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../preload/common/label_kinds.h"
#include "../base/fit.h"
#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../model/http_requests.h"
#include "../query/group.h"
#include "../view/summary.h"
#include "../view/uncertainty.h"
#include "by_values.h"

#define ANSWER_PART   10 /* of the CPU time */
#define SHARE_COLUMNS 17 /* of a row's CPU time and share, without --ci */
#define SAMPLES_WIDTH 8
#define SHARE_WIDTH   6    /* of a function's share, before its text */
#define MIN_WIDTH     10   /* columns of the value, and of the function */
#define MAX_WIDTH     40   /* of the value where lines may have any length; longer ones are not cut */
#define DETAILS_FROM  5.0  /* per cent: a row with less has no further lines */
#define LINE_FROM     20.0 /* per cent of the row: a line with less does not tell why */
#define RANKED_FROM   2.0  /* per cent: what is no value and has less has no row on the screen */
#define SHORT_ROWS    5    /* of the table that is shown unasked */
#define NAME_AT       34   /* columns of the id of a trace, before its name */
#define INDENTATION   12   /* of further lines of a row */
#define ROWS_OF_LINES 60   /* per cent, where lines are limited; the others have details */
#define FEWEST_ROWS   2
#define AWAITED_ROWS  2 /* rows below which is said what they await */
#define TRACE_NAME    "ENDPOINT OR SPAN"

struct layout {
    const struct pt_by_values *values;
    struct pt_request_columns requests;   /* in place of the number of samples, where requests were counted */
    uint32_t value_width, function_width; /* function_width 0: any */
    bool cut;                             /* longer values are */
    bool function_below;                  /* there is no room: the function has a line of its own */
    bool named;
};

/* name: of a trace, or NULL. */
static void print_fitted(const struct layout *layout, const char *text, const char *name)
{
    PT_AUTO_BUFFER fitted = {0};
    pt_fit_text(&fitted, text, layout->cut ? layout->value_width : 0);
    if (layout->named) {
        pt_buffer_format(&fitted, "%*s", NAME_AT - (int)pt_shown_width(fitted.data), "");
        pt_fit_text(&fitted, name, layout->cut ? layout->value_width - NAME_AT : 0);
    }
    if (layout->function_below) {
        fputs(fitted.data, stdout);
        return;
    }
    int padding = (int)layout->value_width - (int)pt_shown_width(fitted.data);
    printf("%s%*s", fitted.data, padding > 0 ? padding : 0, "");
}

static const char *name_of(const struct pt_by_values *values, const struct pt_by_value *value)
{
    return value->name ? pt_string(values->report->profile, value->name) : PT_NO_GROUP;
}

static void print_value(const struct layout *layout, const struct pt_by_value *value)
{
    const struct pt_by_values *values = layout->values;
    const struct pt_profile *profile = values->report->profile;
    double percent = pt_percent(value->ns, values->whole_ns);
    struct pt_share share = pt_by_share(values, value);
    PT_AUTO_BUFFER function = {0};
    pt_print_styled(stdout, pt_style_of_share(value->rank == PT_BY_VALUE ? percent : 0), "%7.2f s %5.1f %%",
                    pt_seconds(value->ns), percent);
    if (values->report->cli->ci)
        pt_print_interval(&share);
    if (layout->requests.shown)
        /* What is no endpoint is of all kinds: a quantile of these requests says nothing of the row's CPU time. */
        pt_print_requests(&layout->requests,
                          pt_is_one_endpoint(profile, value->value)
                              ? &value->requests
                              : &(struct pt_request_sums){.count = value->requests.count},
                          &value->each);
    else
        printf("%*" PRIu64, SAMPLES_WIDTH, value->count);
    fputs("  ", stdout);
    print_fitted(layout, pt_by_text(values, value), name_of(values, value));
    if (!layout->function_below && value->most.text) {
        pt_fit_name(&function, pt_string(profile, value->most.text), layout->function_width);
        printf("  %3.0f %% %s", pt_percent(value->most.ns, value->ns), function.data);
    }
    putchar('\n');
}

static void print_function_below(const struct layout *layout, const struct pt_by_value *value)
{
    uint32_t columns = pt_print_row_columns(stdout);
    PT_AUTO_BUFFER function = {0};
    const char *text = pt_string(layout->values->report->profile, value->most.text);
    bool package = strncmp(text, PT_HOT_PACKAGE, sizeof PT_HOT_PACKAGE - 1) == 0; /* "in django" */
    int used = printf("%*s%.0f %% of it %s", INDENTATION, "", pt_percent(value->most.ns, value->ns),
                      package ? "" : PT_HOT_PACKAGE);
    pt_fit_name(&function, text, columns - (uint32_t)used);
    puts(function.data);
}

static void print_heading(const struct layout *layout, const char *title)
{
    bool ci = layout->values->report->cli->ci;
    pt_print_styled(stdout, PT_STYLE_HEADING, "\n%*s%s", SHARE_COLUMNS, "CPU", ci ? PT_INTERVAL_HEADING : "");
    if (layout->requests.shown)
        pt_print_request_heading(&layout->requests);
    else
        pt_print_styled(stdout, PT_STYLE_HEADING, "%*s", SAMPLES_WIDTH, "SAMPLES");
    fputs("  ", stdout);
    print_fitted(layout, title, TRACE_NAME);
    pt_print_styled(stdout, PT_STYLE_HEADING, "%s\n", layout->function_below ? "" : "  MOST OF IT IN");
}

/* Returns the columns of a row before its value. */
static uint32_t figures_width(const struct layout *layout)
{
    return SHARE_COLUMNS + (layout->values->report->cli->ci ? PT_INTERVAL_WIDTH : 0) +
           (layout->requests.shown ? pt_request_columns_width(&layout->requests) : SAMPLES_WIDTH) + 2;
}

/* Divides what a line has room for between the figures, the value and the function: it goes to a line of its own
 * first; then what of the requests is beyond their number and mean is left out. What is no terminal has any room. */
static void choose_widths(struct layout *layout, const struct pt_by_value *const *rows, uint32_t shown,
                          const char *title)
{
    const struct pt_by_values *values = layout->values;
    uint32_t columns = pt_print_columns(stdout), function = 2 + SHARE_WIDTH;
    bool ci = values->report->cli->ci;
    layout->requests = (struct pt_request_columns){values->counted, ci, values->measured};
    layout->named = values->named && (!columns || columns >= figures_width(layout) + NAME_AT + MIN_WIDTH);
    uint32_t widest = layout->named ? NAME_AT + pt_shown_width(TRACE_NAME) : pt_shown_width(title);
    for (uint32_t i = 0; i < shown; i++) {
        const struct pt_by_value *value = rows[i];
        uint32_t width = layout->named ? NAME_AT + pt_shown_width(name_of(values, value))
                                       : pt_shown_width(pt_by_text(values, value));
        widest = width > widest ? width : widest;
    }
    if (columns && layout->named)
        layout->function_below = columns < figures_width(layout) + function + NAME_AT + 3 * MIN_WIDTH;
    if (columns && values->counted) {
        layout->function_below = columns < figures_width(layout) + function + 2 * MIN_WIDTH;
        layout->requests.spread &= columns >= figures_width(layout) + MIN_WIDTH;
        layout->requests.interval &= columns >= figures_width(layout) + MIN_WIDTH;
    }
    uint32_t used = figures_width(layout) + (layout->function_below ? 0 : function);
    uint32_t room = columns > used + 2 * MIN_WIDTH ? columns - used : 2 * MIN_WIDTH;
    uint32_t most = !columns ? MAX_WIDTH : layout->function_below ? room : room / 2;
    if (layout->named && (!columns || !layout->function_below))
        most = columns ? room - 2 * MIN_WIDTH : NAME_AT + MAX_WIDTH;
    layout->value_width = widest < most ? widest : most;
    layout->function_width = (columns ? room : pt_print_row_columns(stdout) - used) - layout->value_width;
    layout->cut = columns;
}

/* Further lines of a row, in the order in which they are wanted. */
enum detail { FUNCTION = 1, HOT_LINE = 2, AWAITED = 4, CARETS = 8, AFTER_DETAILS = 16 };

/* The rows that are shown, and what becomes of the others. */
struct plan {
    const struct pt_by_value **rows;
    struct pt_awaited *awaited;
    uint8_t *details; /* of each row, enum detail */
    uint32_t count, hidden;
    uint64_t hidden_ns;
};

static void plan_free(struct plan *plan)
{
    free(plan->rows);
    free(plan->awaited);
    free(plan->details);
}

/* Returns whether what is no value has a row; where lines are limited, from so much on. */
static bool is_row(const struct pt_by_values *values, const struct pt_by_value *value, bool limited, uint64_t from_ns)
{
    return limited ? value->ns >= from_ns && pt_percent(value->ns, values->whole_ns) >= RANKED_FROM
                   : pt_by_is_shown(values, value);
}

/* Returns how many values have a row, of `most`; where lines are limited, fewer, so that there is room for details. */
static uint32_t shown_values(const struct pt_by_values *values, uint32_t most, uint32_t lines, uint64_t from_ns)
{
    uint32_t known = values->count - values->ranked, shown = 0, ranked = 0;
    bool limited = lines != UINT32_MAX;
    for (uint32_t i = known; i < values->count; i++)
        ranked += is_row(values, &values->items[i], limited, from_ns);
    uint32_t room = lines > ranked + 1 ? (lines - ranked - 1) * ROWS_OF_LINES / 100 : 0;
    if (limited && most > room)
        most = room > FEWEST_ROWS ? room : FEWEST_ROWS;
    while (shown < known && shown < most && pt_by_is_shown(values, &values->items[shown]))
        shown++;
    if (shown + 1 == known && pt_by_is_shown(values, &values->items[shown]))
        shown++; /* to say that there is another one takes a line too */
    return shown;
}

/* Returns the least of what is no value and has a row, if a value that has none has more: that would be hidden by it.
 */
static const struct pt_by_value *hides_more(const struct pt_by_values *values, uint32_t shown, uint64_t from_ns)
{
    uint32_t known = values->count - values->ranked;
    const struct pt_by_value *least = NULL;
    for (uint32_t i = known; i < values->count; i++)
        if (is_row(values, &values->items[i], true, from_ns) && (!least || values->items[i].ns < least->ns))
            least = &values->items[i];
    return least && shown < known && values->items[shown].ns > least->ns ? least : NULL;
}

/* Chooses values, and what is no value. */
static struct plan plan_rows(const struct pt_by_values *values, uint32_t most, uint32_t lines)
{
    uint32_t known = values->count - values->ranked, shown = shown_values(values, most, lines, 0);
    struct plan plan = {.rows = pt_alloc(values->count, sizeof *plan.rows),
                        .awaited = pt_alloc(values->count, sizeof *plan.awaited),
                        .details = pt_alloc(values->count, sizeof *plan.details)};
    bool limited = lines != UINT32_MAX;
    uint64_t from_ns = 0;
    const struct pt_by_value *least = limited ? hides_more(values, shown, from_ns) : NULL;
    while (least) {
        from_ns = least->ns + 1;
        shown = shown_values(values, most, lines, from_ns);
        least = hides_more(values, shown, from_ns);
    }
    for (uint32_t i = 0; i < values->count; i++) {
        const struct pt_by_value *value = &values->items[i];
        if (i < shown || (i >= known && is_row(values, value, limited, from_ns))) {
            plan.rows[plan.count++] = value;
        } else {
            plan.hidden++;
            plan.hidden_ns += value->ns;
        }
    }
    return plan;
}

/* Returns whether all that the function has is in the hottest line, which then says as much: no caller is named. */
static bool is_all_in_line(const struct layout *layout, const struct pt_by_value *value)
{
    const char *text = pt_string(layout->values->report->profile, value->most.text);
    return value->most.ns == value->most.line.ns && !strstr(text, "→");
}

/* Gives the lines that are left to details of the rows. */
static void plan_details(struct plan *plan, const struct layout *layout, const struct pt_awaits *awaits, uint32_t lines)
{
    const struct pt_by_values *values = layout->values;
    uint32_t used = plan->count + (plan->hidden ? 1 : 0), left = lines > used ? lines - used : 0, awaiting = 0;
    for (unsigned detail = FUNCTION; detail < AFTER_DETAILS; detail *= 2)
        for (uint32_t i = 0; i < plan->count && left; i++) {
            const struct pt_by_value *value = plan->rows[i];
            bool much = value->rank == PT_BY_VALUE && pt_percent(value->ns, values->whole_ns) >= DETAILS_FROM;
            if (detail == AWAITED && awaiting < AWAITED_ROWS)
                plan->awaited[i] = pt_by_awaited(values, awaits, value);
            bool hot = much && pt_percent(value->most.line.ns, value->ns) >= LINE_FROM;
            bool wants_function =
                lines == UINT32_MAX || (value->rank == PT_BY_VALUE && !(hot && is_all_in_line(layout, value)));
            bool wanted = detail == FUNCTION   ? layout->function_below && value->most.text && wants_function
                          : detail == AWAITED  ? plan->awaited[i].ns && ++awaiting
                          : detail == HOT_LINE ? hot
                                               : plan->details[i] & HOT_LINE;
            plan->details[i] |= wanted ? detail : 0;
            left -= wanted;
        }
}

static void print_row(const struct layout *layout, const struct plan *plan, uint32_t i)
{
    const struct pt_profile *profile = layout->values->report->profile;
    const struct pt_by_value *value = plan->rows[i];
    print_value(layout, value);
    if (plan->details[i] & FUNCTION)
        print_function_below(layout, value);
    if (plan->details[i] & AWAITED)
        pt_print_awaited(profile, &plan->awaited[i], value->ns);
    if (plan->details[i] & HOT_LINE)
        pt_print_hot_line(profile, &value->most.line, value->ns, plan->details[i] & CARETS);
}

static void print_hidden(const struct layout *layout, const struct plan *plan)
{
    const struct pt_by_values *values = layout->values;
    uint32_t columns = pt_print_columns(stdout) ?: PT_SCREEN_COLUMNS, before = figures_width(layout);
    PT_AUTO_BUFFER text = pt_formatted("and %" PRIu32 " more", plan->hidden);
    if (values->report->screen)
        pt_buffer_text(&text, PT_MORE_IN_FULL);
    else
        pt_buffer_format(&text, " (--by %s --top %" PRIu32 ")", values->by, values->count - values->ranked);
    if (before + pt_shown_width(text.data) > columns)
        before = SHARE_COLUMNS + 2;
    printf("%7.2f s %5.1f %%%*s%s\n", pt_seconds(plan->hidden_ns), pt_percent(plan->hidden_ns, values->whole_ns),
           (int)(before - SHARE_COLUMNS), "", text.data);
}

/* Prints `most` values; in so many lines, if they are limited, and without notes then. */
static void print_table(const struct pt_by_values *values, uint32_t most, uint32_t lines)
{
    bool whole = values->whole_ns == values->report->whole_ns;
    struct layout layout = {.values = values};
    PT_AUTO(plan_free) struct plan plan = plan_rows(values, most, lines);
    struct pt_awaits *awaits = whole ? pt_awaits_of(values->report->profile, values->by) : NULL;
    PT_AUTO_BUFFER title = {0};
    pt_group_title(&title, values->by);
    choose_widths(&layout, plan.rows, plan.count, title.data);
    plan_details(&plan, &layout, awaits, lines);
    print_heading(&layout, title.data);
    for (uint32_t i = 0; i < plan.count; i++)
        print_row(&layout, &plan, i);
    if (plan.hidden)
        print_hidden(&layout, &plan);
    pt_awaits_free(awaits);
    if (lines != UINT32_MAX)
        return;
    if (layout.requests.spread)
        pt_print_paragraph(
            0, 2,
            "p50 and p99, to an eighth: requests by their thread's clock, routing and middleware included; of ASGI "
            "without the tasks and threads that they start");
    pt_by_notes(values, plan.count);
}

void pt_report_by(const struct pt_report *report, uint32_t process, uint32_t thread)
{
    struct pt_by_values values = pt_by_values_of(report, report->cli->request.by, process, thread, true);
    print_table(&values, report->top, UINT32_MAX);
    free(values.items);
}

/* Returns whether the values of a context have enough of the CPU time to be the answer. */
static bool has_much(const struct pt_report *report, const char *by)
{
    struct pt_by_values values = pt_by_values_of(report, by, PT_NONE, PT_NONE, true);
    uint64_t ns = 0;
    for (uint32_t i = 0; i < values.count; i++)
        ns += values.items[i].rank == PT_BY_VALUE ? values.items[i].ns : 0;
    free(values.items);
    return ns >= values.whole_ns / ANSWER_PART;
}

/* A service is asked for its endpoints, however little it does, if any is known; tasks and greenlets may be a detail of
 * the program: black hands all work from one task to other processes. */
const char *pt_report_context(const struct pt_report *report)
{
    static const char *const answers[] = {PP_KEY_TEST, PP_KEY_ENDPOINT, PP_KEY_TASK, PP_KEY_GREENLET};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        bool endpoint = strcmp(answers[i], PP_KEY_ENDPOINT) == 0;
        if (!pt_has_group(report->profile, answers[i]))
            continue;
        if (endpoint && !pt_has_endpoints(report->profile)) /* each request has a task: the functions say more */
            return NULL;
        if (endpoint || has_much(report, answers[i]))
            return answers[i];
    }
    return NULL;
}

bool pt_report_is_one_value(const struct pt_report *report)
{
    const char *by = report->profile->request->select.focus ? pt_report_context(report) : NULL;
    if (!by)
        return false;
    struct pt_by_values values = pt_by_values_of(report, by, PT_NONE, PT_NONE, true);
    bool is_one = values.count == 1;
    free(values.items);
    return is_one;
}

void pt_report_by_unasked(const struct pt_report *report, uint32_t lines)
{
    const char *by = pt_report_context(report);
    if (!by)
        return;
    struct pt_by_values values = pt_by_values_of(report, by, PT_NONE, PT_NONE, true);
    bool limited = lines != UINT32_MAX && !report->cli->top;
    print_table(&values, report->cli->top ? report->top : SHORT_ROWS, limited ? lines : UINT32_MAX);
    free(values.items);
    if (report->screen)
        return;
    PT_AUTO_BUFFER others = {0};
    pt_groups_append(&others, report->profile, by);
    pt_print_paragraph(0, 2, "Others: --by %s", others.data);
}
