/*
 * The native walk by libunwind, for those who ask for it (PYPROF_UNWIND=libunwind). It is the one exception in this
 * directory: libunwind takes a lock of its own, then the loader's, and maps memory. It masks signals meanwhile, so a
 * thread does not wait for itself. A thread that was interrupted within the loader holds the loader's lock, and half of
 * what it guards: there it would wait for one that waits for it, or read what has just been unmapped, so there (and
 * while any other thread holds that lock) rows are used. It tries memory by a pipe, of which it reads too, and does not
 * see when the program has closed that and uses the numbers again. Forks wait until no handler is in it (libunwind.h).
 */
#ifndef PP_CAPTURE_LIBUNWIND_WALK_H
#define PP_CAPTURE_LIBUNWIND_WALK_H

#include "native_walk.h"
#include <stdbool.h>

/* unw_cursor_t is 127 words up to 1.8; libunwind.c checks that no more are used. */
#define PP_LIBUNWIND_CURSOR_WORDS 192

/* Its functions; constant once they are published. */
struct pp_libunwind {
    int (*init)(void *cursor, void *context, int flags);
    int (*step)(void *cursor);
    int (*get_register)(void *cursor, int number, uintptr_t *value);
    int (*is_signal_frame)(void *cursor);
    int *(*error_location)(void);     /* of errno, which libunwind's system calls change */
    const int *pipe;                  /* the descriptors by which it tries memory, as it has them itself */
    uint64_t pipe_device, pipe_inode; /* what they are */
    const _Atomic int *loader_lock;   /* of the loader's list, 0: free */
};

#define PP_LIBUNWIND_SIGNAL_FRAME 1 /* UNW_INIT_SIGNAL_FRAME: the context is that of a signal */

/* async-signal-safe; whether both are still its pipe. If not it must not be called: it would read and write what is the
 * program's, or make another pipe within the handler. */
bool pp_libunwind_has_pipe(const struct pp_libunwind *library);

/* The same frames as pp_native_walk gives, and the same reasons to end. Code outside every module ends it, though
 * libunwind would guess. cursor: PP_LIBUNWIND_CURSOR_WORDS of the caller's. NOT async-signal-safe as libunwind is not:
 * see above; bounded by stack->max. */
void pp_libunwind_walk(const struct pp_libunwind *library, const ucontext_t *context, uintptr_t stack_top,
                       uint64_t *cursor, struct pp_native_stack *stack);

#endif
