/*
 * A thread-local word of another module, read without the loader's help: __tls_get_addr allocates and locks when the
 * thread has not touched that module's block yet, or when anything was loaded since. And a thread's value under a key
 * of pthread_key_create, read without libc's: pthread_getspecific finds its thread by the FS register, which a program
 * may use for something else.
 */
#ifndef PP_CAPTURE_TLS_WORD_H
#define PP_CAPTURE_TLS_WORD_H

#include "../arch/arch.h"

/* The word of the calling thread, whose thread pointer is given; 0 if the thread has no such block yet.
 * async-signal-safe: plain loads of the thread's own descriptor, DTV and block; a copy of values beyond the first
 * keys'. */
uintptr_t pp_tls_read(const struct pp_tls_word *word, uintptr_t thread_pointer);

#endif
