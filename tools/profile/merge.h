/* Two profiles become one. */
#ifndef PT_PROFILE_MERGE_H
#define PT_PROFILE_MERGE_H

#include "model.h"

/* Adds all that `from` holds to `into`, as if its segments had been added there after those of `into`, and frees
 * `from`. False, with both as they were, when segments of one process are in both: which of them are the same is not
 * known any more. */
bool pt_profile_merge(struct pt_profile *into, struct pt_profile *from);

#endif
