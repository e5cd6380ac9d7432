/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a thread-local word of another module without the loader: __tls_get_addr allocates and locks if the thread has
 * not touched that module's block yet, or if anything was loaded since. Also reads a thread's value under a pthread key
 * without libc: pthread_getspecific finds its thread by the FS register, which a program may use for something else.
 *
 * What is loaded plainly is in the thread's own descriptor, which lasts as long as the thread: a fixed word, the first
 * block of keys, and the address of the DTV. The DTV itself and what is found by it are copied: while glibc enlarges a
 * DTV, the descriptor still leads to the old one, which is freed. A block that is known stays where it is until the
 * thread ends or its module is unloaded. */
#ifndef PP_CAPTURE_TLS_WORD_H
#define PP_CAPTURE_TLS_WORD_H

#include "../arch/arch.h"
#include <stdbool.h>

/* A thread's block of a module that is never unloaded. Zeroed at first. */
struct pp_tls_block {
    uint64_t module;
    uintptr_t address;   /* 0: it is not certain yet */
    uintptr_t candidate; /* as it was found when the thread was met last */
};

/* Copies a PP_TLS_FIXED or PP_TLS_DYNAMIC word of any thread; false if it has none. async-signal-safe. */
bool pp_tls_copy(const struct pp_tls_word *word, uintptr_t thread_pointer, uintptr_t *value);

/* Returns the word of the calling thread, whose thread pointer is given; 0 if the thread has no block for it yet. A
 * dynamic word may be any number while glibc enlarges the DTV. async-signal-safe. */
uintptr_t pp_tls_read(const struct pp_tls_word *word, uintptr_t thread_pointer);

/* Reads a word as pp_tls_read, of a module that is never unloaded. *certain: it is the thread's word, and no number
 * that a freed DTV led to. That is known once two samples in a row have met the thread `outside` of the loader, with
 * the same block: the program's signal handlers and allocators may run the interpreter on top of the loader, but not
 * for so long. *known, which belongs to the thread, keeps the block from then on. async-signal-safe. */
uintptr_t pp_tls_read_in_block(const struct pp_tls_word *word, uintptr_t thread_pointer, bool outside,
                               struct pp_tls_block *known, bool *certain);

/* Turns a dynamic word into a fixed one if every thread has it at the same distance from its thread pointer, as of
 * libraries that are loaded at the start. The thread pointer is the calling thread's. Normal context. */
void pp_tls_fix(struct pp_tls_word *word, uintptr_t thread_pointer);

#endif
