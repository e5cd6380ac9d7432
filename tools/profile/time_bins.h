/*
 * A bound for profiles that keep intervals: when there are more samples than were asked for, neighbouring intervals are
 * merged, and merged again, until it holds. The intervals are then bins of one width, a power of two of seconds, that
 * begin at the run's start. What was in an interval is in the bin of its middle, as for --from and --to: no sum
 * changes.
 */
#ifndef PT_PROFILE_TIME_BINS_H
#define PT_PROFILE_TIME_BINS_H

#include "model.h"

/* Damaged logs say anything: sums of times that this takes do not overflow. */
bool pt_interval_has_time(const struct pt_interval *interval);

/* The bin of the interval's middle, or the interval itself in a profile without bins. */
struct pt_interval pt_time_bin_of(const struct pt_profile *profile, struct pt_interval interval);

/* How much of the interval is before the end of the run: a bin may end after it. */
uint64_t pt_wall_of_run(const struct pt_interval *interval, uint64_t end_unix_ns);

/* Merges intervals into bins of this width at least, as another profile has them. */
void pt_time_bins_widen(struct pt_profile *profile, uint64_t bin_ns);

/* Does what the profile asks for when there are more than most_samples, or intervals of stacks without end: merges
 * intervals, or sets too_many. */
void pt_time_bins_bound(struct pt_profile *profile);

#endif
