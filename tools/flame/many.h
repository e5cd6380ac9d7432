/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the cells of profiles that are too large for a page as they are: CPU by thread is kept apart from CPU by
 * time. */
#ifndef PT_FLAME_MANY_H
#define PT_FLAME_MANY_H

#include "flame.h"

/* Makes the cells of sides without intervals that have very many samples. The sides lose their samples. */
void pt_flame_add_many(struct pt_flame *flame);

/* Chooses the buckets by the intervals of the profile. */
void pt_flame_choose_buckets(struct pt_flame *flame, const struct pt_profile *from);

/* Adds a cell's CPU time and samples to the buckets over which its interval lies, in proportion, and to the last
 * nanosecond. */
void pt_flame_add_timed(struct pt_flame *flame, const struct pt_sample *like, const struct pt_interval *interval);

#endif
