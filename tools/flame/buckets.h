/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the run into buckets of time, and CPU time among them. */
#ifndef PT_FLAME_BUCKETS_H
#define PT_FLAME_BUCKETS_H

#include "flame.h"

/* Chooses the buckets by the intervals of the profile. */
void pt_flame_choose_buckets(struct pt_flame *flame, const struct pt_profile *from);

/* Adds a cell's CPU time and samples to the buckets over which its interval lies, in proportion, and to the last
 * nanosecond. */
void pt_flame_add_timed(struct pt_flame *flame, const struct pt_sample *like, const struct pt_interval *interval);

#endif
