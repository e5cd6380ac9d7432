/* SPDX-License-Identifier: Apache-2.0 */
#include "buckets.h"

#include "../model/time_bins.h"

#define MAX_BUCKETS 400
/* No narrower: a log has an interval for a second mostly, and a sample may weigh CPU of some 50 ms before it. */
#define MIN_BUCKET_NS 1000000000u
/* Intervals that lie over many buckets, of processes that rested, may not make more cells than this. */
#define CELLS_EACH 4

/* Makes buckets of one bin or several, from the run's start on if that is not long before. */
static void choose_buckets_of_bins(struct pt_flame *flame, const struct pt_profile *from, uint64_t start, uint64_t end)
{
    uint64_t width = from->bin_ns, run_start = from->run_start_unix_ns, count;
    for (;; width *= 2) {
        uint64_t first = run_start % width, into = start < first ? 0 : (start - first) % width;
        flame->start_unix_ns = start == run_start ? start : start - into;
        count = (end - flame->start_unix_ns + width - 1) / width;
        if (count <= MAX_BUCKETS)
            break;
    }
    flame->bucket_ns = width;
    flame->buckets = (uint32_t)count;
}

/* Returns how many cells there are at most if buckets are so wide. */
static uint64_t count_cells(const struct pt_profile *from, uint64_t bucket_ns)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < from->samples.count; i++) {
        const struct pt_interval *interval = &from->intervals.items[from->samples.items[i].interval];
        count += 1 + (pt_interval_has_time(interval) ? interval->wall_ns / bucket_ns : 0);
    }
    return count;
}

/* Divides the run into equal buckets. */
static void divide_run(struct pt_flame *flame, const struct pt_profile *from, uint64_t start, uint64_t end)
{
    uint64_t span = end - start, count = span / MIN_BUCKET_NS;
    count = count > MAX_BUCKETS ? MAX_BUCKETS : count ? count : 1;
    while (count > 1 && count_cells(from, (span + count - 1) / count) > (uint64_t)from->samples.count * CELLS_EACH)
        count /= 2;
    flame->start_unix_ns = start;
    flame->bucket_ns = (span + count - 1) / count;
    flame->buckets = (uint32_t)count;
}

void pt_flame_choose_buckets(struct pt_flame *flame, const struct pt_profile *from)
{
    uint64_t start = 0, end = 0, run_start = from->run_start_unix_ns;
    for (uint32_t i = 1; i < from->intervals.count; i++) {
        const struct pt_interval *interval = &from->intervals.items[i];
        if (!pt_interval_has_time(interval))
            continue;
        if (!start || interval->start_unix_ns < start)
            start = interval->start_unix_ns;
        if (interval->start_unix_ns + interval->wall_ns > end)
            end = interval->start_unix_ns + interval->wall_ns;
    }
    if (run_start && run_start < start && start - run_start <= end - start)
        start = run_start;
    if (end && from->bin_ns)
        choose_buckets_of_bins(flame, from, start, end);
    else if (end)
        divide_run(flame, from, start, end);
}

static void add_cell(struct pt_flame *flame, const struct pt_sample *like, uint32_t bucket, uint64_t count,
                     uint64_t cpu_ns)
{
    struct pt_sample cell = *like;
    cell.interval = bucket;
    cell.count = count;
    cell.cpu_ns = cpu_ns;
    if (count || cpu_ns)
        pt_add_sample(flame->merged, &cell);
}

void pt_flame_add_timed(struct pt_flame *flame, const struct pt_sample *like, const struct pt_interval *interval)
{
    if (!pt_interval_has_time(interval) || !flame->buckets) {
        add_cell(flame, like, flame->buckets, like->count, like->cpu_ns);
        return;
    }
    uint64_t start = interval->start_unix_ns - flame->start_unix_ns, end = start + interval->wall_ns;
    for (uint64_t bucket = start / flame->bucket_ns; bucket * flame->bucket_ns < end; bucket++) {
        uint64_t from = flame->start_unix_ns + bucket * flame->bucket_ns, to = from + flame->bucket_ns;
        add_cell(flame, like, (uint32_t)bucket, pt_interval_part(interval, like->count, from, to),
                 pt_interval_part(interval, like->cpu_ns, from, to));
    }
}
