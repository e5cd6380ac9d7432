/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a thread-local word of another module without the loader: __tls_get_addr allocates and locks if the thread has
 * not touched that module's block yet, or if anything was loaded since. Also reads a thread's value under a pthread key
 * without libc: pthread_getspecific finds its thread by the FS register, which a program may use for something else. */
#ifndef PP_CAPTURE_TLS_WORD_H
#define PP_CAPTURE_TLS_WORD_H

#include "../arch/arch.h"
#include <stdbool.h>

/* Returns the address of a PP_TLS_FIXED or PP_TLS_DYNAMIC word of the calling thread, 0 if it has none. To be read by a
 * safe copy: where the module was unloaded, the block may be another module's, or be freed at this moment.
 * async-signal-safe. */
uintptr_t pp_tls_address(const struct pp_tls_word *word, uintptr_t thread_pointer);

/* Copies such a word of another thread; false if it has none. Through copies only. async-signal-safe. */
bool pp_tls_copy(const struct pp_tls_word *word, uintptr_t thread_pointer, uintptr_t *value);

/* Returns the word of the calling thread, whose thread pointer is given; 0 if it has no block for it yet. Loads the
 * thread's own descriptor, DTV and block, and copies values beyond the first block of keys. async-signal-safe. */
uintptr_t pp_tls_read(const struct pp_tls_word *word, uintptr_t thread_pointer);

#endif
