/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time by what --by asks for (group.h), with what most of each value's time is in. */
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
#include "awaited.h"
#include "hot_function.h"
#include "numbered.h"
#include "report.h"
#include "request_columns.h"
#include "sums_json.h"

#define SHARE_COLUMNS  17 /* of a row's CPU time and share, without --ci */
#define SAMPLES_WIDTH  8
#define SHARE_WIDTH    6    /* of a function's share, before its text */
#define MIN_WIDTH      10   /* columns of the value, and of the function */
#define MAX_WIDTH      40   /* of the value where lines may have any length; longer ones are not cut */
#define HIDDEN_BELOW   0.05 /* per cent: shown as 0.0 % otherwise */
#define MUCH_PERCENT   5    /* of all CPU time: worth a sentence where it is in other rows */
#define OFFERED_LENGTH 48   /* of an endpoint's name in a command */
#define SHORT_ROWS     5    /* of the table that is shown unasked */
#define NAME_AT        34   /* columns of the id of a trace, before its name */
#define AWAITED_ROWS   2    /* endpoints below which is said what they await */
#define TRACE_NAME     "ENDPOINT OR SPAN"
#define FEW_SAMPLES    10 /* of a trace: its CPU time may be half of that, or twice */

struct value {
    uint32_t value; /* string; 0: none */
    uint32_t name;  /* string, of a trace (pt_report_trace_names); 0: none */
    uint64_t ns, count;
    struct pt_hot_function most;
    struct pt_request_sums requests;
};

struct values {
    struct value *items;
    uint32_t count;
    bool counted, measured; /* requests were, and the CPU time of some */
    bool named;             /* they are traces */
};

static int by_time(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    return pt_compare(y->ns, x->ns) ?: pt_compare(x->value, y->value);
}

static bool is_wanted(const struct pt_profile *profile, const struct pt_sample *sample, uint32_t process,
                      uint32_t thread)
{
    if (profile->keep == PT_KEEP_STACKS && sample->thread != PT_NONE) /* when a thread was busy */
        return false;
    return (thread == PT_NONE || sample->thread == thread) &&
           (process == PT_NONE || profile->threads.items[sample->thread].process == process);
}

/* Gives what is joined its row: CPU time, samples and what most is in. Requests have endpoints, which are not joined.
 */
static void join_numbered(struct pt_profile *profile, struct values *values, struct pt_hot_functions *most)
{
    uint32_t count = profile->strings.count, capacity = count;
    PT_AUTO_FREE uint64_t *ns = pt_alloc(count, sizeof *ns);
    for (uint32_t i = 0; i < count; i++)
        ns[i] = values->items[i].ns;
    PT_AUTO_FREE uint32_t *rows = pt_join_numbered(profile, ns);
    values->items = pt_grow(values->items, &capacity, profile->strings.count, sizeof *values->items);
    for (uint32_t i = 0; i < count; i++) {
        struct value *from = &values->items[i], *to = &values->items[rows[i]];
        if (from == to)
            continue;
        to->ns += from->ns;
        to->count += from->count;
        *from = (struct value){0};
    }
    pt_hot_functions_join(most, rows);
}

/* Returns the values, those with most CPU time first; of one process or thread only, unless PT_NONE; for people, tasks
 * and greenlets whose names differ in their numbers only are joined. The caller frees items. */
static struct values values_of(const struct pt_report *report, const char *by, uint32_t process, uint32_t thread,
                               bool for_people)
{
    struct pt_profile *profile = report->profile;
    PT_AUTO(pt_group_free) struct pt_group group = pt_group_by(profile, by);
    struct pt_hot_functions *most = pt_hot_functions_new(profile, by, report->cli->lines);
    struct values values = {.items = pt_alloc(profile->strings.count, sizeof(struct value))};
    PT_AUTO_FREE struct pt_request_sums *requests = thread == PT_NONE ? pt_requests_by(profile, by, process) : NULL;
    values.counted = requests;
    values.named = strcmp(by, "trace") == 0;
    PT_AUTO_FREE uint32_t *names = values.named ? pt_report_trace_names(profile) : NULL;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        if (!is_wanted(profile, sample, process, thread))
            continue;
        uint32_t value = pt_group_value(&group, sample);
        pt_hot_functions_add(most, value, sample);
        values.items[value].ns += sample->cpu_ns;
        values.items[value].count += sample->count;
    }
    if (for_people && (strcmp(by, PP_KEY_TASK) == 0 || strcmp(by, PP_KEY_GREENLET) == 0))
        join_numbered(profile, &values, most);
    PT_AUTO_FREE struct pt_hot_function *hot = pt_hot_functions_by_value(most);
    for (uint32_t i = 0; i < profile->strings.count; i++) {
        struct value value = values.items[i];
        value.requests = requests ? requests[i] : value.requests;
        if (!value.ns && !value.count && !value.requests.count)
            continue;
        value.value = i;
        value.name = names ? names[i] : 0;
        value.most = hot[i];
        values.measured |= value.requests.measured > 0;
        values.items[values.count++] = value;
    }
    qsort(values.items, values.count, sizeof *values.items, by_time);
    pt_hot_functions_free(most);
    return values;
}

struct table {
    const struct pt_report *report;
    uint64_t whole_ns;
    struct pt_draws draws;
    struct pt_request_columns requests;   /* in place of the number of samples, where requests were counted */
    uint32_t value_width, function_width; /* function_width 0: any */
    bool cut;                             /* longer values are */
    bool without_function;                /* there is no room */
    bool named;
    bool uneven; /* pt_summary_is_uneven */
};

static struct table table_of(const struct pt_report *report)
{
    return (struct table){.report = report,
                          .whole_ns = report->whole_ns,
                          .draws = report->draws,
                          .uneven = pt_summary_is_uneven(report->profile)};
}

/* name: of a trace, or NULL. */
static void print_fitted(const struct table *table, const char *text, const char *name)
{
    PT_AUTO_BUFFER fitted = {0};
    pt_fit_text(&fitted, text, table->cut ? table->value_width : 0);
    if (table->named) {
        pt_buffer_format(&fitted, "%*s", NAME_AT - (int)pt_shown_width(fitted.data), "");
        pt_fit_text(&fitted, name, table->cut ? table->value_width - NAME_AT : 0);
    }
    if (table->without_function) {
        fputs(fitted.data, stdout);
        return;
    }
    int padding = (int)table->value_width - (int)pt_shown_width(fitted.data);
    printf("%s%*s", fitted.data, padding > 0 ? padding : 0, "");
}

static const char *text_of(const struct table *table, const struct value *value)
{
    return value->value ? pt_string(table->report->profile, value->value) : PT_NO_GROUP;
}

static const char *name_of(const struct table *table, const struct value *value)
{
    return value->name ? pt_string(table->report->profile, value->name) : PT_NO_GROUP;
}

static struct pt_per_request each_of(const struct table *table, const struct value *value)
{
    struct pt_share share = pt_share_of(&table->draws, value->count, value->ns, table->whole_ns);
    return pt_per_request_of(table->report->profile, value->value, value->ns, &value->requests, &share, table->whole_ns,
                             table->uneven);
}

static void print_value(const struct table *table, const struct value *value)
{
    const struct pt_profile *profile = table->report->profile;
    double percent = pt_percent(value->ns, table->whole_ns);
    struct pt_share share = pt_share_of(&table->draws, value->count, value->ns, table->whole_ns);
    struct pt_per_request each = each_of(table, value);
    PT_AUTO_BUFFER function = {0};
    pt_print_styled(stdout, pt_style_of_share(value->value ? percent : 0), "%7.2f s %5.1f %%", pt_seconds(value->ns),
                    percent);
    if (table->report->cli->ci)
        pt_print_interval(&share);
    if (table->requests.shown)
        /* What is no endpoint is of all kinds: a quantile of these requests says nothing of the row's CPU time. */
        pt_print_requests(&table->requests,
                          pt_is_one_endpoint(profile, value->value)
                              ? &value->requests
                              : &(struct pt_request_sums){.count = value->requests.count},
                          &each);
    else
        printf("%*" PRIu64, SAMPLES_WIDTH, value->count);
    fputs("  ", stdout);
    print_fitted(table, text_of(table, value), name_of(table, value));
    pt_fit_frame(&function, pt_string(profile, value->most.text), table->function_width);
    if (!table->without_function && value->most.text)
        printf("  %3.0f %% %s", pt_percent(value->most.ns, value->ns), function.data);
    putchar('\n');
}

static void print_heading(const struct table *table, const char *title)
{
    bool ci = table->report->cli->ci;
    pt_print_styled(stdout, PT_STYLE_HEADING, "\n%*s%s", SHARE_COLUMNS, "CPU", ci ? PT_INTERVAL_HEADING : "");
    if (table->requests.shown)
        pt_print_request_heading(&table->requests);
    else
        pt_print_styled(stdout, PT_STYLE_HEADING, "%*s", SAMPLES_WIDTH, "SAMPLES");
    fputs("  ", stdout);
    print_fitted(table, title, TRACE_NAME);
    pt_print_styled(stdout, PT_STYLE_HEADING, "%s\n", table->without_function ? "" : "  MOST OF IT IN");
}

/* Returns the columns of a row before its value. */
static uint32_t figures_width(const struct table *table)
{
    return SHARE_COLUMNS + (table->report->cli->ci ? PT_INTERVAL_WIDTH : 0) +
           (table->requests.shown ? pt_request_columns_width(&table->requests) : SAMPLES_WIDTH) + 2;
}

/* Divides what a line has room for between the figures, the value and the function: it goes first, then what of the
 * requests is beyond their number and mean. What is no terminal has any room. */
static void choose_widths(struct table *table, const struct values *values, uint32_t shown, const char *title)
{
    uint32_t columns = pt_print_columns(stdout), function = 2 + SHARE_WIDTH;
    bool ci = table->report->cli->ci;
    table->requests = (struct pt_request_columns){values->counted, ci, values->measured};
    table->named = values->named && (!columns || columns >= figures_width(table) + NAME_AT + MIN_WIDTH);
    uint32_t widest = table->named ? NAME_AT + pt_shown_width(TRACE_NAME) : pt_shown_width(title);
    for (uint32_t i = 0; i < shown; i++) {
        const struct value *value = &values->items[i];
        uint32_t width =
            table->named ? NAME_AT + pt_shown_width(name_of(table, value)) : pt_shown_width(text_of(table, value));
        widest = width > widest ? width : widest;
    }
    if (columns && table->named)
        table->without_function = columns < figures_width(table) + function + NAME_AT + 3 * MIN_WIDTH;
    if (columns && values->counted) {
        table->without_function = columns < figures_width(table) + function + 2 * MIN_WIDTH;
        table->requests.spread &= columns >= figures_width(table) + MIN_WIDTH;
        table->requests.interval &= columns >= figures_width(table) + MIN_WIDTH;
    }
    uint32_t used = figures_width(table) + (table->without_function ? 0 : function);
    uint32_t room = columns > used + 2 * MIN_WIDTH ? columns - used : 2 * MIN_WIDTH;
    uint32_t most = !columns ? MAX_WIDTH : table->without_function ? room : room / 2;
    if (table->named && (!columns || !table->without_function))
        most = columns ? room - 2 * MIN_WIDTH : NAME_AT + MAX_WIDTH;
    table->value_width = widest < most ? widest : most;
    table->function_width = (columns ? room : pt_print_row_columns(stdout) - used) - table->value_width;
    table->cut = columns;
}

static bool is_shown(const struct table *table, const struct value *value)
{
    return value->requests.count || pt_percent(value->ns, table->whole_ns) >= HIDDEN_BELOW;
}

/* Says where samples contradict the requests' own clock: a part cannot take more than the whole. */
static bool print_contradiction(const struct table *table, const struct value *value, double whole_ns)
{
    struct pt_buffer whole = {0};
    if (each_of(table, value).low_ns <= whole_ns)
        return false;
    pt_append_duration(&whole, whole_ns);
    pt_print_paragraph(0, 2,
                       "CPU/REQ of %s has more than its requests' own thread used, %s each: tasks or threads work for "
                       "it%s",
                       text_of(table, value), whole.data,
                       table->uneven ? ", or its work runs in step with the kernel's clock tick" : "");
    pt_buffer_free(&whole);
    return true;
}

/* Says where CPU/REQ is not by samples. */
static bool print_by_clock(const struct table *table, const struct value *value, double whole_ns)
{
    (void)whole_ns;
    if (!each_of(table, value).by_clock)
        return false;
    pt_print_paragraph(
        0, 2,
        "CPU/REQ of %s, and of others that samples show less of, is by the requests' own clock, middleware included: "
        "samples were taken at the kernel's clock ticks alone, see the warning",
        text_of(table, value));
    return true;
}

/* Says where much of what the requests took is in other rows: bodies that are streamed have no endpoint. */
static bool print_remainder(const struct table *table, const struct value *value, double whole_ns)
{
    struct pt_buffer whole = {0};
    double rest_ns = (whole_ns - each_of(table, value).high_ns) * (double)value->requests.count;
    if (rest_ns * 100 < MUCH_PERCENT * (double)table->whole_ns)
        return false;
    pt_append_duration(&whole, whole_ns);
    pt_print_paragraph(0, 2,
                       "Requests of %s took %s each by their thread's clock: what is not in this row ran before the "
                       "route was known or after the endpoint had returned, as streamed bodies do",
                       text_of(table, value), whole.data);
    pt_buffer_free(&whole);
    return true;
}

/* Says what it is that has no endpoint, where that is much. */
static void print_outside(const struct table *table, const struct values *values, uint32_t shown)
{
    bool routed = table->report->profile->selected; /* a selection says nothing of the others */
    for (uint32_t i = 0; i < values->count; i++)
        routed |= values->items[i].value && strcmp(text_of(table, &values->items[i]), PP_UNKNOWN_ROUTE) != 0;
    for (uint32_t i = 0; i < shown; i++) {
        const struct value *value = &values->items[i];
        if (pt_percent(value->ns, table->whole_ns) < MUCH_PERCENT)
            continue;
        if (!value->value)
            pt_print_paragraph(
                0, 2,
                PT_NO_GROUP ": no request is known, as in imports, the event loop, the server's own code and, without "
                            "libpyprof.wsgi() or asgi(), greenlets that a request spawns and tasks that it does "
                            "not await");
        else if (strcmp(text_of(table, value), PP_UNKNOWN_ROUTE) == 0)
            pt_print_paragraph(
                0, 2, PP_UNKNOWN_ROUTE ": %s",
                routed
                    ? "requests before their route is found, as in middleware, or after it is gone, as the bodies that "
                      "are streamed; and those that have none"
                    : "all requests, as the routes of this framework are not read: app = libpyprof.wsgi(app) or "
                      "libpyprof.asgi(app) names them by their paths (help(libpyprof), in the wheel), a "
                      "label 'endpoint' as you like");
    }
}

/* Says what a sample is where a trace that is shown has few. */
static void print_few_samples(const struct values *values, uint32_t shown)
{
    uint64_t ns = 0, count = 0;
    bool few = false;
    for (uint32_t i = 0; i < shown; i++) {
        ns += values->items[i].ns;
        count += values->items[i].count;
        few |= values->items[i].count < FEW_SAMPLES;
    }
    if (few && count)
        pt_print_paragraph(
            0, 2, "One sample represents %.0f ms of CPU: traces with few samples may have used far less, or more",
            1000 * pt_seconds(ns) / (double)count);
}

/* Calls `print` for the rows whose requests were measured until it has printed something. */
static void print_first(const struct table *table, const struct values *values, uint32_t shown,
                        bool (*print)(const struct table *, const struct value *, double))
{
    for (uint32_t i = 0; i < shown; i++) {
        const struct value *value = &values->items[i];
        double whole_ns = pt_requests_mean(&value->requests);
        if (pt_is_one_endpoint(table->report->profile, value->value) && whole_ns > 0 && print(table, value, whole_ns))
            return;
    }
}

/* Returns what most of an endpoint awaits. awaits: NULL unless endpoints are shown. */
static struct pt_awaited awaited_by(const struct table *table, const struct pt_awaits *awaits,
                                    const struct value *value)
{
    bool known = value->value && strcmp(text_of(table, value), PP_UNKNOWN_ROUTE) != 0;
    return awaits && known ? pt_hot_awaited(awaits, value->value) : (struct pt_awaited){0};
}

static void print_values(const struct table *table, const struct values *values, uint32_t shown,
                         const struct pt_awaits *awaits)
{
    uint32_t said = 0;
    for (uint32_t i = 0; i < shown; i++) {
        const struct value *value = &values->items[i];
        print_value(table, value);
        struct pt_awaited awaited = {0};
        if (said < AWAITED_ROWS)
            awaited = awaited_by(table, awaits, value);
        if (awaited.ns && ++said)
            pt_print_awaited(table->report->profile, &awaited, value->ns);
    }
}

static void print_table(struct table *table, const struct values *values, const char *by, uint32_t most,
                        const struct pt_awaits *awaits)
{
    struct pt_buffer title = {0};
    uint32_t shown = 0;
    uint64_t hidden_ns = 0;
    while (shown < values->count && shown < most && is_shown(table, &values->items[shown]))
        shown++;
    if (shown + 1 == values->count && is_shown(table, &values->items[shown]))
        shown++; /* to say that there is another one takes a line too */
    pt_group_title(&title, by);
    choose_widths(table, values, shown, title.data);
    print_heading(table, title.data);
    pt_buffer_free(&title);
    print_values(table, values, shown, awaits);
    for (uint32_t i = shown; i < values->count; i++)
        hidden_ns += values->items[i].ns;
    if (shown < values->count)
        printf("%7.2f s %5.1f %%%*sand %" PRIu32 " more (--by %s --top %" PRIu32 ")\n", pt_seconds(hidden_ns),
               pt_percent(hidden_ns, table->whole_ns), (int)(figures_width(table) - SHARE_COLUMNS), "",
               values->count - shown, by, values->count);
    if (values->named)
        print_few_samples(values, shown);
    if (table->requests.spread)
        pt_print_paragraph(
            0, 2,
            "p50 and p99, to an eighth: requests by their thread's clock, routing and middleware included; of ASGI "
            "without the tasks and threads that they start");
    if (strcmp(by, PT_COUNTED_BY) == 0)
        print_outside(table, values, shown);
    print_first(table, values, shown, print_contradiction);
    print_first(table, values, shown, print_by_clock);
    print_first(table, values, shown, print_remainder);
}

void pt_report_by(const struct pt_report *report, uint32_t process, uint32_t thread)
{
    const char *by = report->cli->request.by;
    struct table table = table_of(report);
    struct values values = values_of(report, by, process, thread, true);
    if (process != PT_NONE || thread != PT_NONE) {
        table.whole_ns = table.draws.ns = table.draws.count = 0;
        for (uint32_t i = 0; i < values.count; i++) {
            table.whole_ns += values.items[i].ns;
            table.draws.count += values.items[i].count;
        }
        table.draws.ns = table.whole_ns;
    }
    struct pt_awaits *awaits = process == PT_NONE && thread == PT_NONE ? pt_awaits_of(report->profile, by) : NULL;
    print_table(&table, &values, by, report->top, awaits);
    pt_awaits_free(awaits);
    free(values.items);
}

void pt_report_by_unasked(const struct pt_report *report)
{
    static const char *const answers[] = {PP_KEY_ENDPOINT, PP_KEY_TASK, PP_KEY_GREENLET};
    const size_t count = sizeof answers / sizeof answers[0];
    size_t i = 0;
    while (i < count && !pt_has_group(report->profile, answers[i]))
        i++;
    if (i == count)
        return;
    struct table table = table_of(report);
    struct values values = values_of(report, answers[i], PT_NONE, PT_NONE, true);
    PT_AUTO_BUFFER others = {0};
    struct pt_awaits *awaits = pt_awaits_of(report->profile, answers[i]);
    print_table(&table, &values, answers[i], report->cli->top ? report->top : SHORT_ROWS, awaits);
    pt_awaits_free(awaits);
    pt_groups_append(&others, report->profile, answers[i]);
    pt_print_paragraph(0, 2, "Others: --by %s", others.data);
    free(values.items);
}

char *pt_report_hot_endpoint(const struct pt_report *report)
{
    const struct pt_profile *profile = report->profile;
    if (profile->selected || !pt_has_group(profile, PT_COUNTED_BY))
        return NULL;
    struct values values = values_of(report, PT_COUNTED_BY, PT_NONE, PT_NONE, false);
    uint32_t hottest = 0;
    for (uint32_t i = 0; !hottest && i < values.count; i++)
        hottest = values.items[i].ns ? values.items[i].value : 0;
    free(values.items);
    const char *text = pt_string(profile, hottest);
    if (!*text || strlen(text) > OFFERED_LENGTH)
        return NULL;
    for (const char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            return NULL;
    struct pt_buffer pattern = {0};
    pt_buffer_format(&pattern, "%s=", PT_COUNTED_BY);
    for (; *text; text++)
        pt_buffer_format(&pattern, "%s%c", strchr("\\^$.[]|()*+?{}", *text) ? "\\" : "", *text);
    pt_buffer_text(&pattern, "$");
    return pattern.data;
}

void pt_report_by_json(const struct pt_report *report, struct pt_json *json)
{
    struct values values = values_of(report, report->cli->request.by, PT_NONE, PT_NONE, false);
    const struct table table = table_of(report);
    uint32_t most = report->cli->top ? report->cli->top : UINT32_MAX;
    struct pt_awaits *awaits = pt_awaits_of(report->profile, report->cli->request.by);
    pt_json_begin(json, "by", '[');
    for (uint32_t i = 0; i < values.count && i < most; i++) {
        pt_json_begin(json, NULL, '{');
        pt_json_string(json, "value", report->profile, values.items[i].value);
        if (values.named)
            pt_json_string(json, "name", report->profile, values.items[i].name);
        pt_json_number(json, "cpu_ns", values.items[i].ns);
        pt_json_number(json, "samples", values.items[i].count);
        struct pt_per_request each = each_of(&table, &values.items[i]);
        if (values.items[i].requests.count)
            pt_json_requests(json, &values.items[i].requests, &each);
        struct pt_awaited awaited = awaited_by(&table, awaits, &values.items[i]);
        if (awaited.ns)
            pt_json_awaited(json, report->profile, &awaited);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
    pt_awaits_free(awaits);
    free(values.items);
}
