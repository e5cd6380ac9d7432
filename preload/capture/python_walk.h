#ifndef PP_CAPTURE_PYTHON_WALK_H
#define PP_CAPTURE_PYTHON_WALK_H

#include "capture.h"

/* Where the signal hit. */
struct pp_interrupted {
    uintptr_t pc, sp;
    uintptr_t frame_end; /* of the innermost native frame: its CFA, 0 if unknown */
};

/* Found in scratch->python and scratch->runs, innermost first. */
struct pp_python_stack {
    uint32_t frames, runs;
    /* The interrupted code may be the native eval function itself, in the middle of changing the chain: the innermost
     * run may be wrong although it passed, so its code objects are not to be trusted unseen. */
    bool doubtful;
};

/* Walks the Python frames of the calling thread, whose C stack ends at slot->stack_top. Returns PP_REASON_NONE for a
 * chain that passed every guard (an empty one included: no Python on this thread), else why there is none.
 * async-signal-safe; reads stale pointers through safe copies only; bounded by PP_MAX_*. */
enum pp_reason pp_python_walk(const struct pp_python *python, struct pp_slot *slot,
                              const struct pp_interrupted *interrupted, struct pp_python_stack *stack);

#endif
