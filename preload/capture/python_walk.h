/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PP_CAPTURE_PYTHON_WALK_H
#define PP_CAPTURE_PYTHON_WALK_H

#include "thread_state.h"

/* Where the signal hit, and the native frames found from there (scratch->native). */
struct pp_interrupted {
    uintptr_t pc, sp;
    unsigned native_frames;
    bool native_complete; /* the native walk reached the outermost frame */
    bool other_stack;     /* sp is not on the thread's own stack */
    const ucontext_t *registers;
    uintptr_t task_frame; /* address of the frame with which the running task's own stack begins; 0: none */
};

/* The result in scratch->python and scratch->runs, innermost first. */
struct pp_python_stack {
    uint32_t frames, runs;
    uint32_t total;      /* frames seen; more than `frames` if there were too many */
    uintptr_t outermost; /* address of the last frame; 0: what is further out was not read */
    uint32_t gap; /* frames before the first that was left out (all further out, or only the middle); 0: none was */
    /* The signal may have hit the native eval function while it changes the chain: the innermost run may be wrong
     * although it passed every guard, so its code objects must be verified. */
    bool doubtful;
    bool entering;       /* an eval call has just begun; it has one frame at most */
    bool changing;       /* the chain was torn, or may be here: a call has begun and the callee executed nothing */
    bool counted;        /* 3.8–3.10: one run without a marker, each frame with a native eval frame of its own */
    bool subinterpreter; /* 3.8–3.10: eval frames further out may be those of another interpreter, which called it */
    bool compiled;       /* the outermost run has no marker: its functions were compiled to native code */
    bool collecting;
    uint32_t task_frame; /* index of that frame, PP_NO_FRAME: it is not there */
};

/* Walks the Python frames of the calling thread, whose C stack ends at slot->thread.stack_top. Returns PP_REASON_NONE
 * for a chain that passed every guard (even an empty chain), PYTHON_TOO_DEEP if only both ends of it or the innermost
 * frames were kept, else why there is none. The order of eval frames is only checked on the
 * thread's own stack. async-signal-safe; reads stale pointers through safe copies only; bounded by PP_MAX_*. */
enum pp_reason pp_python_walk(const struct pp_thread_state *state, struct pp_slot *slot,
                              const struct pp_interrupted *interrupted, struct pp_python_stack *stack);

/* Whether pc is in a native eval function as far as they are known. async-signal-safe. */
bool pp_in_eval(uintptr_t pc);

#endif
