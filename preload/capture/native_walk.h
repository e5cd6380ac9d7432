/*
 * The native walk: from a signal's context to the list of return addresses, by the unwind rows that flush/ compiled.
 * Everything here is async-signal-safe, takes no lock, allocates nothing and reads only the row tables and [SP - red
 * zone, stack_top).
 */
#ifndef PP_CAPTURE_NATIVE_WALK_H
#define PP_CAPTURE_NATIVE_WALK_H

#include "../log_format.h"
#include <stdint.h>
#include <ucontext.h>

struct pp_native_frame {
    uintptr_t ip;  /* where to look names up: an interrupted pc or a signal's restorer; else return address - 1 */
    uintptr_t cfa; /* end of this frame, the next one's sp: it occupies [its sp, cfa), nothing if its end is unknown */
};

/* Walks outward from the context of a signal. stack_top: first address above the thread's stack.
 * Stores at most `max` frames, innermost first, and their number in *count. Returns PP_REASON_NONE when the
 * outermost frame was reached, else why it stopped (what was found before stays valid).
 * async-signal-safe, reentrant; works on any thread. */
enum pp_reason pp_native_walk(const ucontext_t *context, uintptr_t stack_top, struct pp_native_frame *frames,
                              unsigned max, unsigned *count);

/* Goes on where a walk has ended early, from a frame that is known by other means: an address in its code that stands
 * at a call, and the frame's end. Appends that frame and those further out to frames[*count...]. The same contract. */
enum pp_reason pp_native_resume(uintptr_t ip, uintptr_t cfa, uintptr_t stack_top, struct pp_native_frame *frames,
                                unsigned max, unsigned *count);

#endif
