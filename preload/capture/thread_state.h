/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the calling thread's interpreter by its PyThreadState, and whether it holds the GIL or collects garbage. */
#ifndef PP_CAPTURE_THREAD_STATE_H
#define PP_CAPTURE_THREAD_STATE_H

#include "capture.h"

struct pp_thread_state {
    const struct pp_python *python; /* NULL: no Python on this thread */
    uintptr_t address;
    const void *memory;         /* to read its fields from: a copy if it may be freed meanwhile */
    bool attached;              /* attached to this thread: neither it nor what it owns can be freed meanwhile */
    bool uncertain;             /* seems to be attached, but the address may be of something else: all is copied */
    uint32_t state;             /* PP_STATE_GIL_KNOWN, PP_STATE_HOLDS_GIL, PP_STATE_GC */
    uintptr_t collecting_frame; /* 3.15: PP_STATE_GC is to be set if this frame is on the stack; else 0 */
};

/* Finds the calling thread's state. Returns PP_REASON_NONE also if there is none, else why it cannot be used.
 * async-signal-safe: direct loads only of what cannot be freed meanwhile, copies of all else; needs slot->scratch. */
enum pp_reason pp_thread_state_find(struct pp_slot *slot, struct pp_thread_state *found);

/* Whether Python frames hang on the state at this address, whose bytes are in memory. async-signal-safe. */
bool pp_thread_state_has_frames(const struct pp_python_layout *layout, const void *memory, uintptr_t address);

/* Returns whether what the thread's DTV leads to is most likely its own, because glibc is not changing the DTV now: the
 * signal has hit the interpreter's code, which hardly runs meanwhile (tls_word.h). Never of a thread whose end we may
 * not see: its blocks are freed then. async-signal-safe. */
static inline bool pp_outside_loader(const struct pp_slot *slot)
{
    return !slot->thread.scanned && pp_python_of_code(slot->scratch->pc);
}

/* Returns the thread pointer of the calling thread, whose creation we did not see; 0 if it has no glibc descriptor, or
 * its creator's (raw clone). async-signal-safe. */
uintptr_t pp_foreign_thread_pointer(const struct pp_slot *slot);

#endif
