#include "time_bins.h"

#include <stdlib.h>

/* No narrower: logs have an interval for a second mostly. */
#define FIRST_BIN_NS 1000000000u
/* The limit for profiles of stacks: no view shows more. */
#define MOST_BINS 800
/* One bin and interval 0 are left at least: wider bins merge nothing. */
#define FEWEST_INTERVALS 2
/* No log is longer. */
#define LAST_BIN_NS (1ull << 61)

bool pt_interval_has_time(const struct pt_interval *interval)
{
    const uint64_t most = UINT64_MAX / 4;
    return interval->start_unix_ns && interval->wall_ns && interval->start_unix_ns < most && interval->wall_ns < most;
}

struct pt_interval pt_time_bin_of(const struct pt_profile *profile, struct pt_interval interval)
{
    uint64_t width = profile->bin_ns, middle = interval.start_unix_ns + interval.wall_ns / 2;
    if (!width || !pt_interval_has_time(&interval))
        return interval;
    uint64_t first = profile->run_start_unix_ns % width;
    if (middle < first) /* of decades ago: a bin that the epoch cuts off */
        return (struct pt_interval){1, first > 1 ? first - 1 : 1};
    return (struct pt_interval){first + (middle - first) / width * width, width};
}

uint64_t pt_wall_of_run(const struct pt_interval *interval, uint64_t end_unix_ns)
{
    uint64_t start = interval->start_unix_ns, wall = interval->wall_ns;
    return start < end_unix_ns && wall > end_unix_ns - start ? end_unix_ns - start : wall;
}

/* Adds all samples again, with the bins as they are now. */
static void sort_into_bins(struct pt_profile *profile)
{
    uint32_t count, interval_count = profile->intervals.count;
    struct pt_interval *intervals = pt_copy(profile->intervals.items, interval_count, sizeof *intervals);
    uint32_t *moved = pt_alloc(interval_count, sizeof *moved);
    const struct pt_sample *samples = pt_retake_samples(profile, &count);
    pt_index_free(&profile->intervals.index);
    profile->intervals.count = 1;
    for (uint32_t i = 1; i < interval_count; i++) {
        struct pt_interval bin = pt_time_bin_of(profile, intervals[i]);
        moved[i] = pt_add_interval(profile, bin.start_unix_ns, bin.wall_ns);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct pt_sample sample = samples[i];
        sample.interval = moved[sample.interval];
        pt_add_as_kept(profile, &sample);
    }
    free(moved);
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
           (profile->keep == PT_KEEP_STACKS && profile->intervals.count > MOST_BINS);
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
