/* SPDX-License-Identifier: Apache-2.0 */
#include "time_bins.h"

#include <stdlib.h>

/* No narrower: logs have an interval for a second mostly. */
#define FIRST_BIN_NS 1000000000u
/* The limit for profiles of stacks: no view shows more. */
#define MAX_BINS 800
/* One bin and interval 0 are left at least: wider bins merge nothing. */
#define FEWEST_INTERVALS 2
/* An interval over more bins is in that of its middle: no library leaves any, and a damaged log may hold any time. */
#define MAX_SLICES 64
/* No log is longer. */
#define LAST_BIN_NS (1ull << 61)

/* Returns the part of the value that belongs to the time before `at`. */
static uint64_t part_before(const struct pt_interval *interval, uint64_t value, uint64_t at)
{
    if (at <= interval->start_unix_ns)
        return 0;
    uint64_t since = at - interval->start_unix_ns;
    if (since >= interval->wall_ns)
        return value;
    uint64_t part = (uint64_t)((double)value * ((double)since / (double)interval->wall_ns) + 0.5);
    return part < value ? part : value;
}

uint64_t pt_interval_part(const struct pt_interval *interval, uint64_t value, uint64_t from, uint64_t to)
{
    return part_before(interval, value, to) - part_before(interval, value, from);
}

static struct pt_interval bin_at(const struct pt_profile *profile, uint64_t unix_ns)
{
    uint64_t width = profile->bin_ns, first = profile->run_start_unix_ns % width;
    if (unix_ns < first) /* of decades ago: a bin that the epoch cuts off */
        return (struct pt_interval){1, first > 1 ? first - 1 : 1};
    return (struct pt_interval){first + (unix_ns - first) / width * width, width};
}

struct pt_interval pt_time_slice(const struct pt_profile *profile, struct pt_interval *left, struct pt_interval *bin)
{
    struct pt_interval all = *left;
    left->wall_ns = 0;
    *bin = all;
    if (!profile->bin_ns || !pt_interval_has_time(&all))
        return all;
    uint64_t end = all.start_unix_ns + all.wall_ns;
    bool divides = all.wall_ns / profile->bin_ns < MAX_SLICES;
    *bin = bin_at(profile, divides ? all.start_unix_ns : all.start_unix_ns + all.wall_ns / 2);
    uint64_t bin_end = bin->start_unix_ns + bin->wall_ns;
    if (!divides || end <= bin_end)
        return all;
    *left = (struct pt_interval){bin_end, end - bin_end};
    return (struct pt_interval){all.start_unix_ns, bin_end - all.start_unix_ns};
}

uint64_t pt_wall_of_run(const struct pt_interval *interval, uint64_t end_unix_ns)
{
    uint64_t start = interval->start_unix_ns, wall = interval->wall_ns;
    return start < end_unix_ns && wall > end_unix_ns - start ? end_unix_ns - start : wall;
}

/* Adds a sample to all bins over which its interval lies. */
static void divide_sample(struct pt_profile *profile, const struct pt_sample *sample,
                          const struct pt_interval *interval)
{
    struct pt_interval left = *interval, bin;
    while (left.wall_ns) {
        struct pt_interval slice = pt_time_slice(profile, &left, &bin);
        uint64_t from = slice.start_unix_ns, to = from + slice.wall_ns;
        struct pt_sample part = *sample;
        part.interval = pt_add_interval(profile, bin.start_unix_ns, bin.wall_ns);
        part.count = pt_interval_part(interval, sample->count, from, to);
        part.cpu_ns = pt_interval_part(interval, sample->cpu_ns, from, to);
        if (part.count || part.cpu_ns)
            pt_add_as_kept(profile, &part);
    }
}

/* Adds all samples again, with the bins as they are now. */
static void sort_into_bins(struct pt_profile *profile)
{
    uint32_t count, interval_count = profile->intervals.count;
    struct pt_interval *intervals = pt_copy(profile->intervals.items, interval_count, sizeof *intervals), bin;
    PT_AUTO_FREE uint32_t *moved = pt_alloc(interval_count, sizeof *moved); /* PT_NONE: to several bins */
    PT_AUTO_FREE struct pt_sample *samples = pt_take_samples(profile, &count);
    pt_index_free(&profile->intervals.index);
    profile->intervals.count = 1;
    for (uint32_t i = 1; i < interval_count; i++) {
        struct pt_interval left = intervals[i];
        pt_time_slice(profile, &left, &bin);
        moved[i] = left.wall_ns ? PT_NONE : pt_add_interval(profile, bin.start_unix_ns, bin.wall_ns);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct pt_sample sample = samples[i];
        sample.interval = moved[sample.interval];
        if (sample.interval == PT_NONE)
            divide_sample(profile, &samples[i], &intervals[samples[i].interval]);
        else
            pt_add_as_kept(profile, &sample);
    }
    free(intervals);
}

void pt_time_bins_widen(struct pt_profile *profile, uint64_t bin_ns)
{
    if (bin_ns <= profile->bin_ns)
        return;
    profile->bin_ns = bin_ns;
    sort_into_bins(profile);
}

static bool is_too_much(const struct pt_profile *profile)
{
    return profile->samples.count > profile->request->most_samples ||
           (profile->keep == PT_KEEP_STACKS && profile->intervals.count > MAX_BINS);
}

void pt_time_bins_bound(struct pt_profile *profile)
{
    if (!profile->request->timed || !profile->request->most_samples || !is_too_much(profile))
        return;
    if (!profile->request->merge_intervals)
        profile->too_many = true;
    while (profile->request->merge_intervals && is_too_much(profile) && profile->intervals.count > FEWEST_INTERVALS &&
           profile->bin_ns < LAST_BIN_NS)
        pt_time_bins_widen(profile, profile->bin_ns ? 2 * profile->bin_ns : FIRST_BIN_NS);
}
