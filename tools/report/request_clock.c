/* SPDX-License-Identifier: Apache-2.0 */
#include "request_clock.h"

#include <math.h>

/* The requests of a run are not independent of each other: all have the same machine. Means of equal runs differed by
 * three per cent, ten times as much as their spread explains. So each run's mean is taken to be off by this share
 * besides: a change below some 13 % is never marked. */
#define RUN_DIFFERS     0.05
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
        double count = both[i].count, off = RUN_DIFFERS * both[i].mean;
        if (count < FEWEST_REQUESTS)
            return 1;
        both[i].squares += off * off * count * (count - 1);
    }
    return pt_means_chance(&both[0], &both[1]);
}
