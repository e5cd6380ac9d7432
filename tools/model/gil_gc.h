/* SPDX-License-Identifier: Apache-2.0 */
/* Sums CPU time by the state of the interpreter: with or without the GIL, inside or outside the garbage collector. */
#ifndef PT_MODEL_GIL_GC_H
#define PT_MODEL_GIL_GC_H

#include "model.h"

static inline bool pt_in_gc(uint32_t state)
{
    return state & PP_STATE_GC_KNOWN && state & PP_STATE_GC;
}

/* Adds cpu_ns, spent in this state, to *sum. Shares are of the known part (gil_known_ns, gc_known_ns): not every
 * version of CPython tells, and CPU time without samples has no state. */
void pt_states_add(struct pt_states *sum, uint32_t state, uint64_t cpu_ns);
void pt_states_add_all(struct pt_states *sum, const struct pt_states *more);

/* Returns "GIL held" or "GIL not held", or `unknown` if PP_STATE_GIL_KNOWN is not set. */
const char *pt_gil_text(uint32_t state, const char *unknown);

/* Returns the sums of one process, or of all (PT_NONE). */
struct pt_states pt_states_of(const struct pt_profile *profile, uint32_t process);

/* Returns the sums of every thread, or of every process, by number. The caller frees. */
struct pt_states *pt_states_by(const struct pt_profile *profile, bool threads);

/* Puts the pseudo-frame [gc] into the stacks of samples that were taken in a collection: as the callee of the Python
 * frame in which the collection ran, so that stacks do not differ by the C function that allocated, or by whether the
 * interpreter's functions have names. With names it follows the Python frame below the collector, and finalizers are
 * its callees; without names it follows the innermost Python frame. Call after symbols were resolved, once per set of
 * samples: those that were taken out (pt_take_samples) are not touched. */
void pt_states_add_gc_frames(struct pt_profile *profile);

#endif
