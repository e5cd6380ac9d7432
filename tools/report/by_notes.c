/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../../preload/common/label_kinds.h"
#include "../base/print.h"
#include "../model/http_requests.h"
#include "../query/group.h"
#include "../view/summary.h"
#include "by_values.h"

#define MUCH_PERCENT 5  /* of all CPU time: worth a sentence where it is in other rows */
#define FEW_SAMPLES  10 /* of a trace: its CPU time may be half of that, or twice */

/* Says where samples contradict the requests' own clock: a part cannot take more than the whole. */
static bool print_contradiction(const struct pt_by_values *values, const struct pt_by_value *value, double whole_ns)
{
    PT_AUTO_BUFFER whole = {0};
    if (value->each.low_ns <= whole_ns)
        return false;
    pt_append_duration(&whole, whole_ns);
    pt_print_paragraph(
        0, 2,
        "CPU/REQ of %s has more than its requests' own thread used, %s each: tasks, threads or greenlets "
        "work for it%s",
        pt_by_text(values, value), whole.data,
        values->uneven ? ", or its work runs in step with the kernel's clock tick" : "");
    return true;
}

/* Says where CPU/REQ is not by samples. */
static bool print_by_clock(const struct pt_by_values *values, const struct pt_by_value *value, double whole_ns)
{
    (void)whole_ns;
    if (!value->each.by_clock)
        return false;
    pt_print_paragraph(
        0, 2,
        "CPU/REQ of %s, and of others that samples show less of, is by the requests' own clock, middleware included: "
        "samples were taken at the kernel's clock ticks alone, see the warning",
        pt_by_text(values, value));
    return true;
}

/* Says where much of what the requests took is in other rows: bodies that are streamed have no endpoint. */
static bool print_remainder(const struct pt_by_values *values, const struct pt_by_value *value, double whole_ns)
{
    PT_AUTO_BUFFER whole = {0};
    double rest_ns = (whole_ns - value->each.high_ns) * (double)value->requests.count;
    if (rest_ns * 100 < MUCH_PERCENT * (double)values->whole_ns)
        return false;
    pt_append_duration(&whole, whole_ns);
    pt_print_paragraph(0, 2,
                       "Requests of %s took %s each by their thread's clock: what is not in this row ran before the "
                       "route was known or after the endpoint had returned, as streamed bodies do",
                       pt_by_text(values, value), whole.data);
    return true;
}

/* Says what may be in the row of no request: what this profile can have. */
static void print_none(const struct pt_by_values *values)
{
    struct pt_profile *profile = values->report->profile;
    bool tasks = !values->counted && pt_has_group(profile, PP_KEY_TASK);
    bool greenlets = !values->counted && pt_has_group(profile, PP_KEY_GREENLET);
    pt_print_paragraph(0, 2,
                       PT_NO_GROUP ": no request is known: the event loop, the server's own code, threads that a "
                                   "request starts%s%s",
                       tasks ? ", tasks that it does not await (its own with libpyprof.asgi())" : "",
                       greenlets ? ", greenlets that it spawns (its own with libpyprof.wsgi())" : "");
}

/* Says what it is that has no endpoint, where that is much. */
static void print_outside(const struct pt_by_values *values)
{
    const struct pt_unread framework = pt_unread_endpoints(values->report->profile);
    PT_AUTO_BUFFER unread = {0};
    pt_buffer_format(&unread,
                     "all requests, as the routes of %s are not read: app = libpyprof.%s(app) names them by their "
                     "paths (help(libpyprof), in the wheel), a label 'endpoint' as you like",
                     framework.package ? framework.package : "this framework",
                     framework.wrapper ? framework.wrapper : "wsgi(app) or libpyprof.asgi");
    uint32_t known = values->count - values->ranked;
    bool routed = values->report->profile->selected || known; /* a selection says nothing of the others */
    for (uint32_t i = known; i < values->count; i++) {
        const struct pt_by_value *value = &values->items[i];
        if (pt_percent(value->ns, values->whole_ns) < MUCH_PERCENT)
            continue;
        if (value->rank == PT_BY_NONE)
            print_none(values);
        else if (value->rank == PT_BY_UNKNOWN_ROUTE)
            pt_print_paragraph(
                0, 2, PP_UNKNOWN_ROUTE ": %s",
                routed
                    ? "requests before their route is found, as in middleware, or after it is gone, as the bodies that "
                      "are streamed; and those that have none"
                    : unread.data);
    }
}

/* Says what a sample is where a trace that is shown has few. */
static void print_few_samples(const struct pt_by_values *values, uint32_t shown)
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
static void print_first(const struct pt_by_values *values, uint32_t shown,
                        bool (*print)(const struct pt_by_values *, const struct pt_by_value *, double))
{
    for (uint32_t i = 0; i < shown; i++) {
        const struct pt_by_value *value = &values->items[i];
        double whole_ns = pt_requests_mean(&value->requests);
        if (pt_is_one_endpoint(values->report->profile, value->value) && whole_ns > 0 && print(values, value, whole_ns))
            return;
    }
}

void pt_by_notes(const struct pt_by_values *values, uint32_t shown)
{
    if (values->named)
        print_few_samples(values, shown);
    if (strcmp(values->by, PT_COUNTED_BY) == 0)
        print_outside(values);
    print_first(values, shown, print_contradiction);
    print_first(values, shown, print_by_clock);
    print_first(values, shown, print_remainder);
}
