#ifndef PP_CAPTURE_PYTHON_WALK_H
#define PP_CAPTURE_PYTHON_WALK_H

#include "thread_state.h"

/* Where the signal hit, and the native frames that were found from there (scratch->native). */
struct pp_interrupted {
    uintptr_t pc, sp;
    unsigned native_frames;
    bool native_complete;    /* the native walk reached the outermost frame */
    bool other_stack;        /* sp is not on the thread's own */
    const greg_t *registers; /* the general ones, in no particular order */
    unsigned register_count;
};

/* Found in scratch->python and scratch->runs, innermost first. */
struct pp_python_stack {
    uint32_t frames, runs;
    uint32_t total; /* frames seen; more than `frames` when there are too many */
    uint32_t gap;   /* after so many of them the walk left some out, all further out or only the middle; 0: none */
    /* The interrupted code may be the native eval function itself, in the middle of changing the chain: the innermost
     * run may be wrong although it passed, so its code objects are not to be trusted unseen. */
    bool doubtful;
    bool entering; /* an eval call begins, which has no frame yet or one */
    bool changing; /* and this is a place where that happens (a call has begun, nothing in the callee has), or it has */
    bool counted;  /* 3.8–3.10: one run without a marker, each frame has a native eval frame of its own */
    bool collecting;
};

/* Walks the Python frames of the calling thread, whose C stack ends at slot->thread.stack_top. Returns PP_REASON_NONE
 * for a chain that passed every guard (an empty one included: no Python frame), PYTHON_TOO_DEEP for one that did and of
 * which only the ends are there, at least the innermost frames, else why there is none. On another stack than the
 * thread's own, how eval calls lie among each other proves nothing. async-signal-safe; reads stale pointers through
 * safe copies only; bounded by PP_MAX_*. */
enum pp_reason pp_python_walk(const struct pp_thread_state *state, struct pp_slot *slot,
                              const struct pp_interrupted *interrupted, struct pp_python_stack *stack);

/* Whether pc belongs to a native eval function as far as is known. async-signal-safe. */
bool pp_in_eval(uintptr_t pc);

#endif
