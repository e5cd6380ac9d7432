/* SPDX-License-Identifier: Apache-2.0 */
/* Declares what the parts of tools/flame that make the tree and its cells share. */
#ifndef PT_FLAME_BUCKETS_H
#define PT_FLAME_BUCKETS_H

#include "flame.h"

/* Adds a profile's stacks to the tree, and maps its nodes to those of the tree; a parent's number is less than its
 * children's. The caller frees. */
uint32_t *pt_flame_add_nodes(struct pt_flame *flame, const struct pt_profile *from);

/* Makes the cells of all sides. */
void pt_flame_add_cells(struct pt_flame *flame);

/* Chooses the buckets by the intervals of the profile. */
void pt_flame_choose_buckets(struct pt_flame *flame, const struct pt_profile *from);

/* Adds a cell's CPU time and samples to the buckets over which its interval lies, in proportion, and to the last
 * nanosecond. */
void pt_flame_add_timed(struct pt_flame *flame, const struct pt_sample *like, const struct pt_interval *interval);

/* Makes the cells of sides without intervals that have very many samples. The sides lose their samples. */
void pt_flame_add_many(struct pt_flame *flame);

#endif
