/* SPDX-License-Identifier: Apache-2.0 */
/* Walks native stacks by libunwind (PYPROF_UNWIND=libunwind), the one exception in this directory: libunwind takes its
 * own lock, then the loader's, and maps memory. It blocks signals meanwhile, so a thread never waits for itself. A
 * thread interrupted inside the loader holds the loader's lock over half-changed data, where libunwind could deadlock
 * or read memory just unmapped: unwind rows are used there, and while any other thread holds that lock. libunwind
 * probes memory through a pipe, which it also reads, and does not notice if the program closes that pipe and reuses its
 * descriptors. Forks wait until no handler is inside libunwind (libunwind/libunwind.h). */
#ifndef PP_CAPTURE_LIBUNWIND_WALK_H
#define PP_CAPTURE_LIBUNWIND_WALK_H

#include "native_walk.h"
#include <stdbool.h>

/* libunwind's functions and state; constant once published. */
struct pp_libunwind {
    int (*init)(void *cursor, void *registers, int flags);
    int (*step)(void *cursor);
    int (*get_register)(void *cursor, int number, uintptr_t *value);
    int (*is_signal_frame)(void *cursor);
    int *(*error_location)(void);     /* of errno, which libunwind's system calls change */
    const int *pipe;                  /* libunwind's own array with the two descriptors of its pipe */
    uint64_t pipe_device, pipe_inode; /* identity of that pipe */
    const _Atomic int *loader_lock;   /* of the loader's list of objects, 0: free */
};

#define PP_LIBUNWIND_SIGNAL_FRAME 1 /* UNW_INIT_SIGNAL_FRAME: the context is a signal's */

/* Whether both descriptors are still libunwind's pipe. If not, libunwind must not be called: it would read and write
 * the program's files, or make another pipe inside the handler. async-signal-safe. */
bool pp_libunwind_has_pipe(const struct pp_libunwind *library);

/* Finds the frames that pp_native_walk would, and ends for the same reasons: at code outside every module, too, where
 * libunwind would guess. cursor: PP_LIBUNWIND_CURSOR_WORDS words of the caller. NOT async-signal-safe, as libunwind is
 * not (see above); bounded by stack->max. */
void pp_libunwind_walk(const struct pp_libunwind *library, const ucontext_t *registers, uintptr_t stack_top,
                       uint64_t *cursor, struct pp_native_stack *stack);

#endif
