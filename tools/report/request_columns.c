/* SPDX-License-Identifier: Apache-2.0 */
#include "request_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "../base/print.h"
#include "../base/terminal_text.h"

#define COUNT_WIDTH    10
#define EACH_WIDTH     9
#define INTERVAL_WIDTH 17
#define PER_CENT       100
#define MEDIAN         0.5
#define TAIL           0.99
#define NORMAL_95      1.96

/* The requests of a run are not independent of each other: all have the same machine. Means of equal runs differed by
 * three per cent, ten times as much as their spread explains. So each run's mean is taken to be off by this share
 * besides: a change below some 13 % is never marked. */
#define FEWEST_REQUESTS 30  /* whose mean is distributed normally, about */
#define MIN_MEASURED    0.9 /* of the requests: the others may be of another kind */

struct pt_several pt_request_clock(const struct pt_request_sums *sums)
{
    const unsigned last = PP_HANDLER_BUCKETS - 1; /* has no end: requests in it spread as much as they exceed it */
    double rest = (double)sums->cpu_ns, low = 0;
    struct pt_several clock = {0};
    if (!sums->measured || (double)sums->measured < MIN_MEASURED * (double)sums->count)
        return clock;
    clock.count = (uint32_t)sums->measured;
    clock.mean = rest / (double)sums->measured;
    for (unsigned i = 0; i < last; i++) {
        double here = (double)sums->buckets[i], width = (double)pp_request_bucket_limit(i) - low;
        double middle = low + width / 2, off = middle - clock.mean;
        clock.squares += here * (off * off + width * width / 12); /* spread evenly */
        rest -= here * middle;
        low += width;
    }
    double many = (double)sums->buckets[last], more = many > 0 ? fmax(rest / many - low, 0) : 0;
    double off = low + more - clock.mean;
    clock.squares += many * (off * off + more * more);
    return clock;
}

double pt_request_clocks_chance(const struct pt_several clocks[2])
{
    struct pt_several both[] = {clocks[0], clocks[1]};
    for (int i = 0; i < 2; i++) {
        double count = both[i].count, off = PT_RUN_DIFFERS * both[i].mean;
        if (count < FEWEST_REQUESTS)
            return 1;
        both[i].squares += off * off * count * (count - 1);
    }
    return pt_means_chance(&both[0], &both[1]);
}

static struct pt_per_request by_clock(const struct pt_request_sums *sums)
{
    struct pt_several clock = pt_request_clock(sums);
    double count = clock.count, off = count > 1 ? NORMAL_95 * sqrt(clock.squares / (count * (count - 1))) : clock.mean;
    return (struct pt_per_request){clock.mean, fmax(clock.mean - off, 0), clock.mean + off, true};
}

struct pt_per_request pt_per_request_of(const struct pt_profile *profile, uint32_t endpoint, uint64_t ns,
                                        const struct pt_request_sums *sums, const struct pt_share *share,
                                        uint64_t whole_ns, bool uneven)
{
    double of_a_percent = (double)whole_ns / PER_CENT / (double)(sums->count ?: 1);
    struct pt_per_request each = {.ns = pt_cpu_per_request(profile, endpoint, ns, sums->count)};
    if (each.ns > 0) {
        each.low_ns = share->bounds.low * of_a_percent;
        each.high_ns = share->bounds.high * of_a_percent;
    }
    if (uneven && pt_is_one_endpoint(profile, endpoint) && pt_request_clock(sums).mean > each.high_ns)
        return by_clock(sums);
    return each;
}

uint32_t pt_request_columns_width(const struct pt_request_columns *columns)
{
    return COUNT_WIDTH + EACH_WIDTH + (columns->interval ? INTERVAL_WIDTH : 0) + (columns->spread ? 2 * EACH_WIDTH : 0);
}

static void print_right(uint32_t width, const char *text)
{
    uint32_t used = pt_shown_width(text);
    printf("%*s%s", used < width ? (int)(width - used) : 0, "", text);
}

static void print_duration(uint32_t width, double ns)
{
    PT_AUTO_BUFFER text = {0};
    if (ns > 0)
        pt_append_duration(&text, ns);
    else
        pt_buffer_text(&text, "-");
    print_right(width, text.data);
}

void pt_print_request_heading(const struct pt_request_columns *columns)
{
    pt_print_styled(stdout, PT_STYLE_HEADING, "%*s%*s", COUNT_WIDTH, "REQUESTS", EACH_WIDTH, "CPU/REQ");
    if (columns->interval)
        pt_print_styled(stdout, PT_STYLE_HEADING, "%*s", INTERVAL_WIDTH, "95 % RANGE");
    if (columns->spread)
        pt_print_styled(stdout, PT_STYLE_HEADING, "%*s%*s", EACH_WIDTH, "p50", EACH_WIDTH, "p99");
}

void pt_print_requests(const struct pt_request_columns *columns, const struct pt_request_sums *sums,
                       const struct pt_per_request *each)
{
    PT_AUTO_BUFFER interval = {0};
    if (sums->count)
        printf("%*" PRIu64, COUNT_WIDTH, sums->count);
    else
        print_right(COUNT_WIDTH, "-");
    print_duration(EACH_WIDTH, each->ns);
    pt_buffer_text(&interval, "");
    if (each->ns > 0) {
        pt_append_duration(&interval, each->low_ns);
        pt_buffer_text(&interval, "–");
        pt_append_duration(&interval, each->high_ns);
    }
    if (columns->interval)
        print_right(INTERVAL_WIDTH, interval.data);
    if (columns->spread) {
        print_duration(EACH_WIDTH, (double)pt_requests_quantile(sums, MEDIAN));
        print_duration(EACH_WIDTH, (double)pt_requests_quantile(sums, TAIL));
    }
}

void pt_json_requests(struct pt_json *json, const struct pt_request_sums *sums, const struct pt_per_request *each)
{
    pt_json_number(json, "requests", sums->count);
    if (each->ns > 0) {
        pt_json_format(json, "cpu_per_request_ns", "%.0f", each->ns);
        pt_json_format(json, "cpu_per_request_low_ns", "%.0f", each->low_ns);
        pt_json_format(json, "cpu_per_request_high_ns", "%.0f", each->high_ns);
        if (each->by_clock)
            pt_json_bool(json, "cpu_per_request_by_clock", true);
    }
    if (sums->measured) {
        pt_json_number(json, "measured_requests", sums->measured);
        pt_json_number(json, "measured_ns", sums->cpu_ns);
        pt_json_number(json, "p50_ns", pt_requests_quantile(sums, MEDIAN));
        pt_json_number(json, "p99_ns", pt_requests_quantile(sums, TAIL));
    }
}
