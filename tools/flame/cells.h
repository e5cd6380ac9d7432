/* Between the parts of tools/flame that make the tree and its cells. */
#ifndef PP_FLAME_CELLS_H
#define PP_FLAME_CELLS_H

#include "flame.h"

/* Adds a profile's stacks to the tree, and maps its nodes to those of the tree; a parent's number is less than its
 * children's. The caller frees. */
uint32_t *pp_flame_add_nodes(struct pp_flame *flame, const struct pp_profile *from);

/* The cells of all sides. */
void pp_flame_add_cells(struct pp_flame *flame);

/* From the intervals of the profile. */
void pp_flame_choose_buckets(struct pp_flame *flame, const struct pp_profile *from);

/* Adds a cell's CPU time to the buckets over which its interval lies, in proportion, to the last nanosecond; the
 * samples, which cannot be divided, to the one in the middle. */
void pp_flame_add_timed(struct pp_flame *flame, const struct pp_sample *like, const struct pp_interval *interval);

/* The cells of sides without intervals that have very many: from the samples, which they have no more then. */
void pp_flame_add_many(struct pp_flame *flame);

#endif
