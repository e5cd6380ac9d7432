/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the size of profiles that keep intervals: if there are more samples than requested, neighbouring intervals are
 * merged until there are not. The intervals are then bins of equal width, a power of two of seconds, from the run's
 * start on. An interval that lies over several bins is divided among them, as by --from and --to: no sum changes.
 */
#ifndef PT_MODEL_TIME_BINS_H
#define PT_MODEL_TIME_BINS_H

#include "model.h"

/* Returns whether the interval's times are plausible, so that sums of them do not overflow; damaged logs may hold any.
 */
static inline bool pt_interval_has_time(const struct pt_interval *interval)
{
    const uint64_t most = UINT64_MAX / 4;
    return interval->start_unix_ns && interval->wall_ns && interval->start_unix_ns < most && interval->wall_ns < most;
}

/* Returns the part of a value (CPU time, samples) that belongs to the time from `from` to `to`, if it is spread evenly
 * over the interval: a log knows nothing finer. The parts of adjoining times add up to the value. */
uint64_t pt_interval_part(const struct pt_interval *interval, uint64_t value, uint64_t from, uint64_t to);

/* Takes from *left, which must not be empty, the time within its first bin, and returns it; *bin is the bin. In a
 * profile without bins that is all of *left, and *bin is the same. */
struct pt_interval pt_time_slice(const struct pt_profile *profile, struct pt_interval *left, struct pt_interval *bin);

/* Returns the part of the interval in ns that is before the end of the run; the last bin may end later. */
uint64_t pt_wall_of_run(const struct pt_interval *interval, uint64_t end_unix_ns);

/* Merges intervals into bins at least this wide, to match another profile. */
void pt_time_bins_widen(struct pt_profile *profile, uint64_t bin_ns);

/* Merges intervals, or sets too_many, as requested, if there are more than most_samples samples or too many intervals
 * of stacks. */
void pt_time_bins_bound(struct pt_profile *profile);

#endif
