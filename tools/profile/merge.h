/* Merges two profiles. */
#ifndef PT_PROFILE_MERGE_H
#define PT_PROFILE_MERGE_H

#include "model.h"

/* Adds everything in `from` to `into`, as if its segments had been added after those of `into`, and frees `from`.
 * Returns false, with both unchanged, if both have segments of one process: segments that are in both cannot be
 * recognized. */
bool pt_profile_merge(struct pt_profile *into, struct pt_profile *from);

#endif
