/* The state of the interpreter when samples were taken: which threads held the GIL, which collected garbage. */
#ifndef PT_VIEW_GIL_GC_H
#define PT_VIEW_GIL_GC_H

#include "model.h"

static inline bool pt_in_gc(uint32_t state)
{
    return state & PP_STATE_GC_KNOWN && state & PP_STATE_GC;
}

/* Shares are of the known part: not every version of CPython tells, and CPU time that no sample saw has no state. */
void pt_states_add(struct pt_states *sum, uint32_t state, uint64_t cpu_ns);
void pt_states_add_all(struct pt_states *sum, const struct pt_states *more);

/* "GIL held" or "GIL not held", `unknown` where PP_STATE_GIL_KNOWN is not set. */
const char *pt_gil_text(uint32_t state, const char *unknown);

/* Of one process, or of all (PT_NONE). */
struct pt_states pt_states_of(const struct pt_profile *profile, uint32_t process);

/* Of every thread or every process, by number. The caller frees. */
struct pt_states *pt_states_by(const struct pt_profile *profile, bool threads);

/* Puts the pseudo-frame [gc] into the stacks of samples that fell into a collection: as the callee of the Python frame
 * during which it ran, so that it reads the same whatever C function was about to allocate and whether or not the
 * interpreter's own functions have names. When they have, that is the Python frame below the collector, and
 * finalizers that it calls stand above [gc]; when they have none, it is the innermost Python frame. After the last
 * segment and after symbols were resolved; call once. */
void pt_states_add_gc_frames(struct pt_profile *profile);

#endif
