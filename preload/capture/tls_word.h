/*
 * A thread-local word of another module, read without the loader's help: __tls_get_addr allocates and locks when the
 * thread has not touched that module's block yet, or when anything was loaded since. And a thread's value under a key
 * of pthread_key_create, read without libc's: pthread_getspecific finds its thread by the FS register, which a program
 * may use for something else.
 */
#ifndef PP_CAPTURE_TLS_WORD_H
#define PP_CAPTURE_TLS_WORD_H

#include <stdbool.h>
#include <stdint.h>

enum pp_tls_kind {
    PP_TLS_NONE,
    PP_TLS_FIXED,   /* at thread pointer + offset in every thread: the module was there at start */
    PP_TLS_DYNAMIC, /* at offset in block `module` of the thread's DTV (glibc's dtv_t: {block, to_free}) */
    PP_TLS_KEY,     /* under the key that {int is_created; unsigned key} at address `offset` (a Py_tss_t) names */
};

/* struct pthread.specific_1stblock, at the same place in every x86-64 glibc from 2.4 on; pp_python_key_find makes sure
 * of it. */
#define PP_DESCRIPTOR_SPECIFIC 784

struct pp_tls_word {
    uint8_t kind; /* enum pp_tls_kind */
    uint64_t module;
    int64_t offset;
};

/* The word of the calling thread, whose thread pointer is given; 0 if the thread has no such block yet.
 * async-signal-safe: plain loads of the thread's own descriptor, DTV and block; a copy of values beyond the first
 * keys'. */
uintptr_t pp_tls_read(const struct pp_tls_word *word, uintptr_t thread_pointer);

#endif
