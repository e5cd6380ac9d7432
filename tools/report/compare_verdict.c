/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of `pyprof diff`: faster or slower, by how much, and how sure that is. */
#include <inttypes.h>
#include <math.h>

#include "../base/print.h"
#include "../model/http_requests.h"
#include "../view/summary.h"
#include "compare.h"
#include "request_columns.h"

#define Z         1.959964 /* of the normal distribution, for 95 % */
#define AS_BEFORE 0.5      /* per cent: less is no change that anybody would name */

/* What the sides need for the same work, in any unit. */
struct speed {
    double values[2];
    double margin; /* half the 95 % interval of the change, in per cent of A's; 0: not known */
};

static double percent_of(const struct speed *speed)
{
    return 100 * (speed->values[1] - speed->values[0]) / speed->values[0];
}

/* Appends "5.31 s for 4.74 s", or in smaller units. */
static void append_values(struct pt_buffer *text, const struct speed *speed)
{
    for (int i = 1; i >= 0; i--) {
        if (fmax(speed->values[0], speed->values[1]) >= 1e9)
            pt_buffer_format(text, "%.2f s", speed->values[i] / 1e9);
        else
            pt_append_duration(text, speed->values[i]);
        pt_buffer_text(text, i ? " for " : "");
    }
}

static void append_percent(struct pt_buffer *text, double percent)
{
    pt_buffer_format(text, "%.*f", fabs(percent) < 9.95 ? 1 : 0, percent);
}

/* Appends "12 % slower than before: 5.31 s for 4.74 s of CPU". unsure: what is said of a change, or "". */
static void append_change(struct pt_buffer *text, const struct speed *speed, const char *unsure, const char *of)
{
    double percent = percent_of(speed);
    if (fabs(percent) < AS_BEFORE) {
        pt_buffer_text(text, "As fast as before: ");
    } else {
        append_percent(text, fabs(percent));
        pt_buffer_format(text, " %% %s than before%s: ", percent > 0 ? "slower" : "faster", unsure);
    }
    append_values(text, speed);
    pt_buffer_text(text, of);
}

/* Appends the change, and how sure it is. */
static void append_sure(struct pt_buffer *text, const struct speed *speed, bool changed, const char *of)
{
    if (changed) {
        append_change(text, speed, "", of);
        pt_buffer_text(text, ", ± ");
    } else {
        pt_buffer_text(text, "No sure change: ");
        append_values(text, speed);
        pt_buffer_format(text, "%s, %+.1f ± ", of, percent_of(speed));
    }
    append_percent(text, speed->margin);
    pt_buffer_text(text, " %");
}

static void append_several(struct pt_buffer *text, const struct speed *speed, const struct pt_side sides[2])
{
    uint32_t runs[] = {sides[0].runs.count, sides[1].runs.count};
    append_sure(text, speed, pt_has_cpu_changed(sides), " of CPU");
    if (runs[0] == runs[1])
        pt_buffer_format(text, " (%" PRIu32 " runs each)", runs[0]);
    else
        pt_buffer_format(text, " (%" PRIu32 " and %" PRIu32 " runs)", runs[0], runs[1]);
}

/* CPU time of a run is measured, not sampled: only more runs say how much it differs from run to run. */
static void append_runs(struct pt_buffer *text, const struct pt_side sides[2])
{
    const struct pt_several *a = &sides[0].runs, *b = &sides[1].runs;
    struct speed speed = {{a->mean * 1e9, b->mean * 1e9}, 100 * pt_means_margin(a, b) / a->mean};
    if (a->count > 1 && b->count > 1)
        append_several(text, &speed, sides);
    else
        append_change(text, &speed,
                      a->count == b->count ? ", which may be chance (one run each)"
                                           : ", which may be chance (one run of one side)",
                      " of CPU");
}

/* What requests need, each with the square of its standard error, in ns. */
struct needs {
    double ns[2], variances[2];
};

/* Adds so many requests of an endpoint, by samples. */
static void add_sampled(struct needs *needs, const struct pt_comparison *comparison, const struct pt_change *change,
                        double times)
{
    for (int side = 0; side < 2; side++) {
        double ns = 1e6 * times * pt_compare_value(comparison, change, side), count = (double)change->counts[side];
        needs->ns[side] += ns;
        needs->variances[side] += count > 0 ? ns * ns * comparison->sides[side].draws.spread / count : 0;
    }
}

/* Adds them by their own clock. */
static void add_measured(struct needs *needs, const struct pt_compared *endpoint, double times)
{
    for (int side = 0; side < 2; side++) {
        const struct pt_several *clock = &endpoint->clocks[side];
        needs->ns[side] += times * clock->mean;
        needs->variances[side] += times * times * clock->squares / clock->count / (clock->count - 1.0);
    }
}

static struct speed speed_of(const struct needs *needs, double requests, bool single)
{
    struct speed speed = {{0, 0}, 0};
    double variance = single ? 2 * PT_RUN_DIFFERS * PT_RUN_DIFFERS : 0;
    if (!(needs->ns[0] > 0) || !(needs->ns[1] > 0))
        return speed;
    for (int side = 0; side < 2; side++) {
        variance += needs->variances[side] / needs->ns[side] / needs->ns[side];
        speed.values[side] = needs->ns[side] / requests;
    }
    speed.margin = 100 * Z * sqrt(variance) * speed.values[1] / speed.values[0];
    return speed;
}

/* Appends what all compared endpoints take for a request: with B's requests on both sides, as a load that has changed
 * is no change of the program; by samples or the requests' own clock, whichever is surer. */
static void append_requests(struct pt_buffer *text, const struct pt_comparison *comparison, bool single)
{
    struct needs sampled = {{0, 0}, {0, 0}}, measured = {{0, 0}, {0, 0}};
    double requests = 0;
    bool clocks = true;
    for (uint32_t i = 0; i < comparison->function_count; i++) {
        const struct pt_compared *endpoint = &comparison->functions[i];
        double times = (double)endpoint->self.requests[1];
        requests += times;
        add_sampled(&sampled, comparison, &endpoint->self, times);
        clocks = clocks && endpoint->clocks[0].count > 1 && endpoint->clocks[1].count > 1;
        if (clocks)
            add_measured(&measured, endpoint, times);
    }
    struct speed speed = speed_of(&sampled, requests, single);
    struct speed by_clock = clocks ? speed_of(&measured, requests, single) : (struct speed){{0, 0}, 0};
    if (by_clock.values[0] > 0 && (by_clock.margin < speed.margin || !(speed.values[0] > 0)))
        speed = by_clock;
    if (speed.values[0] > 0)
        append_sure(text, &speed, fabs(percent_of(&speed)) > speed.margin, " of CPU per request");
}

/* Of a part of the profile, or per second, nothing says how sure it is. */
static void append_part(struct pt_buffer *text, const struct pt_side sides[2], bool by_time)
{
    struct speed speed = {{0, 0}, 0};
    for (int i = 0; i < 2; i++) {
        double per = by_time ? pt_seconds(sides[i].sum.wall_ns) : sides[i].run_count;
        speed.values[i] = per > 0 ? (double)sides[i].whole_ns / per : 0;
    }
    if (!(speed.values[0] > 0))
        return;
    double percent = percent_of(&speed);
    append_percent(text, fabs(percent));
    pt_buffer_format(text, " %% %s CPU than before: ", percent < 0 ? "less" : "more");
    append_values(text, &speed);
    pt_buffer_text(text, by_time ? " in each second" : " in what is selected");
}

static void append_shares(struct pt_buffer *text, const struct pt_side sides[2])
{
    if (pt_has_requests(sides[0].profile) && pt_has_requests(sides[1].profile))
        pt_buffer_text(text, "Shares of the CPU: whether requests became faster or slower says --by endpoint");
    else
        pt_buffer_text(text, sides[0].profile->selected || sides[1].profile->selected
                                 ? "Not known whether it is slower: this is a part of what requests use"
                                 : "Not known whether it is slower: requests are not counted on both sides (app = "
                                   "libpyprof.wsgi(app) counts them)");
}

void pt_comparison_verdict(const struct pt_comparison *comparison, FILE *out)
{
    const struct pt_side *sides = comparison->sides;
    PT_AUTO_BUFFER text = {0};
    bool single = sides[0].run_count < 2 || sides[1].run_count < 2, requests = comparison->by == PT_COMPARE_REQUEST,
         runs = false;
    if (requests)
        append_requests(&text, comparison, single);
    else if (comparison->by == PT_COMPARE_TIME)
        append_part(&text, sides, true);
    else if (comparison->by == PT_COMPARE_SHARE && comparison->service)
        append_shares(&text, sides);
    else if (!sides[0].runs.count || !sides[1].runs.count)
        append_part(&text, sides, false);
    else if ((runs = sides[0].runs.mean > 0))
        append_runs(&text, sides);
    if (text.length)
        pt_put_paragraph(out, 0, 2, "%s", text.data);
    if (text.length && single && (runs || requests)) {
        fputs("  ", out);
        pt_put_paragraph(out, 2, 2, "One run does not say how much runs differ: %s",
                         runs ? "pyprof run --repeat 5, or --all" : "5 % are taken for each");
    }
}
