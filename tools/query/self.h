/* SPDX-License-Identifier: Apache-2.0 */
/* Says for which frame of a stack its CPU time counts as self time where native code counts for the Python function
 * that calls it: for the innermost Python function or garbage collection, or for what is CPU time without a
 * stack. In a profile without native frames that is the innermost frame. */
#ifndef PT_QUERY_SELF_H
#define PT_QUERY_SELF_H

#include "../model/model.h"

/* Returns the frame for a stack that ends in `frame` (PT_NONE for the root), given that of the stack without this
 * frame; PT_NONE: native code that no Python function called. */
uint32_t pt_self_frame(const struct pt_profile *profile, uint32_t frame, uint32_t without);

/* Returns that frame for each node. The caller frees. */
uint32_t *pt_self_frames(const struct pt_profile *profile);

/* Returns the line that a Python frame runs; that of its function's beginning for instructions without a line. */
uint32_t pt_frame_line(const struct pt_profile *profile, const struct pt_frame *frame);

#endif
