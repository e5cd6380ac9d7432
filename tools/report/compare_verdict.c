/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of `pyprof diff`: faster or slower, by how much, and how sure that is. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../base/print.h"
#include "../model/http_requests.h"
#include "../view/summary.h"
#include "compare.h"

#define Z           1.959964 /* of the normal distribution, for 95 % */
#define AS_BEFORE   0.5      /* per cent: less is no change that anybody would name */
#define CLOSE       5.0      /* per cent: what is known as closely is said to be as before where nothing is seen */
#define FEWEST_RUNS 5        /* that are recommended */

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

/* Appends "12 % slower than before: 5.31 s for 4.74 s of CPU". */
static void append_change(struct pt_buffer *text, const struct speed *speed, const char *of)
{
    double percent = percent_of(speed);
    if (fabs(percent) < AS_BEFORE) {
        pt_buffer_text(text, "As fast as before: ");
    } else {
        append_percent(text, fabs(percent));
        pt_buffer_format(text, " %% %s than before: ", percent > 0 ? "slower" : "faster");
    }
    append_values(text, speed);
    pt_buffer_text(text, of);
}

/* Appends how sure it is, of runs that differ among themselves. */
static void append_several(struct pt_buffer *text, const struct speed *speed, const struct pt_side sides[2])
{
    uint32_t runs[] = {sides[0].runs.count, sides[1].runs.count};
    if (pt_has_cpu_changed(sides)) {
        append_change(text, speed, " of CPU");
        pt_buffer_text(text, ", ± ");
    } else {
        pt_buffer_text(text, speed->margin <= CLOSE ? "As fast as before: "
                                                    : "Faster or slower is not known, runs differ too much: ");
        append_values(text, speed);
        pt_buffer_format(text, " of CPU, %+.1f ± ", percent_of(speed));
    }
    append_percent(text, speed->margin);
    if (runs[0] == runs[1])
        pt_buffer_format(text, " %% (%" PRIu32 " runs each)", runs[0]);
    else
        pt_buffer_format(text, " %% (%" PRIu32 " and %" PRIu32 " runs)", runs[0], runs[1]);
}

/* CPU time of a run is measured, not sampled: only more runs say how much it differs from run to run. */
static void append_runs(struct pt_buffer *text, const struct pt_side sides[2])
{
    const struct pt_several *a = &sides[0].runs, *b = &sides[1].runs;
    struct speed speed = {{a->mean * 1e9, b->mean * 1e9}, 100 * pt_means_margin(a, b) / a->mean};
    if (a->count > 1 && b->count > 1)
        append_several(text, &speed, sides);
    else
        append_change(text, &speed, " of CPU");
}

/* Returns what all compared endpoints take for a request: with B's requests on both sides, as a load that has changed
 * is no change of the program. */
static struct speed speed_of_requests(const struct pt_comparison *comparison)
{
    struct speed speed = {{0, 0}, 0};
    double requests = 0, variances[2] = {0, 0}, variance = 0;
    for (uint32_t i = 0; i < comparison->function_count; i++) {
        const struct pt_change *change = &comparison->functions[i].self;
        double times = (double)change->requests[1];
        requests += times;
        for (int side = 0; side < 2; side++) {
            double ns = 1e6 * times * pt_compare_value(comparison, change, side);
            speed.values[side] += ns;
            variances[side] += change->counts[side]
                                   ? ns * ns * comparison->sides[side].draws.spread / (double)change->counts[side]
                                   : 0;
        }
    }
    for (int side = 0; side < 2; side++) {
        variance += speed.values[side] > 0 ? variances[side] / speed.values[side] / speed.values[side] : 0;
        speed.values[side] /= requests > 0 ? requests : 1;
    }
    speed.margin = speed.values[0] > 0 ? 100 * Z * sqrt(variance) * speed.values[1] / speed.values[0] : 0;
    return speed;
}

static void append_requests(struct pt_buffer *text, const struct pt_comparison *comparison)
{
    struct speed speed = speed_of_requests(comparison);
    const struct pt_side *sides = comparison->sides;
    if (!(speed.values[0] > 0))
        return;
    if (fabs(percent_of(&speed)) > speed.margin) {
        append_change(text, &speed, " of CPU per request");
        pt_buffer_text(text, ", ± ");
    } else {
        pt_buffer_text(text, "As fast as before, as far as the samples tell: ");
        append_values(text, &speed);
        pt_buffer_format(text, " of CPU per request, %+.1f ± ", percent_of(&speed));
    }
    append_percent(text, speed.margin);
    pt_buffer_text(text, " %");
    if (sides[0].run_count < 2 || sides[1].run_count < 2)
        pt_buffer_text(text, " by the samples; what runs differ by comes on top");
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

void pt_comparison_verdict(const struct pt_comparison *comparison, FILE *out)
{
    const struct pt_side *sides = comparison->sides;
    PT_AUTO_BUFFER text = {0};
    bool single = false;
    if (comparison->by == PT_COMPARE_REQUEST)
        append_requests(&text, comparison);
    else if (comparison->by == PT_COMPARE_TIME)
        append_part(&text, sides, true);
    else if (comparison->by == PT_COMPARE_SHARE && comparison->service)
        pt_buffer_text(&text,
                       "Faster or slower is not known: requests are not counted on both sides (libpyprof.wsgi(app), "
                       "asgi(app)). What follows are shares of the CPU");
    else if (!sides[0].runs.count || !sides[1].runs.count)
        append_part(&text, sides, false);
    else if (sides[0].runs.mean > 0) {
        append_runs(&text, sides);
        single = sides[0].runs.count < 2 || sides[1].runs.count < 2;
    }
    if (text.length)
        pt_put_paragraph(out, 0, 2, "%s", text.data);
    if (single) {
        fputs("  ", out);
        pt_put_paragraph(out, 2, 2, "One run does not say how much runs differ: pyprof run --repeat %d, or --all",
                         FEWEST_RUNS);
    }
}
