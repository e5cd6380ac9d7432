/* Which interpreter the calling thread runs, by its PyThreadState, and what that says about the GIL and the garbage
 * collector. */
#ifndef PP_CAPTURE_THREAD_STATE_H
#define PP_CAPTURE_THREAD_STATE_H

#include "capture.h"

struct pp_thread_state {
    const struct pp_python *python; /* NULL: no Python on this thread */
    uintptr_t address;
    const void *memory;         /* to read its fields from: a copy where it may be freed meanwhile */
    bool attached;              /* it runs in its name: neither it nor what it owns can be freed meanwhile */
    uint32_t state;             /* PP_STATE_GIL_KNOWN, PP_STATE_HOLDS_GIL, PP_STATE_GC */
    uintptr_t collecting_frame; /* 3.15: PP_STATE_GC is to be set if this frame is on the stack; else 0 */
};

/* Finds it. Returns PP_REASON_NONE also when there is none, else why it cannot be used.
 * async-signal-safe: plain loads of what cannot be freed meanwhile, copies of all else; needs slot->scratch and
 * its native frames. */
enum pp_reason pp_thread_state_find(struct pp_slot *slot, struct pp_thread_state *found);

/* pthread_self() of a thread that was not made through us, by its own thread pointer; 0 if it has no descriptor of
 * glibc's, or its creator's (raw clone). async-signal-safe. */
uintptr_t pp_foreign_thread_pointer(const struct pp_slot *slot);

#endif
