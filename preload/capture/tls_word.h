/*
 * A thread-local word of another module, read without the loader's help: __tls_get_addr allocates and locks when the
 * thread has not touched that module's block yet, or when anything was loaded since.
 */
#ifndef PP_CAPTURE_TLS_WORD_H
#define PP_CAPTURE_TLS_WORD_H

#include <stdbool.h>
#include <stdint.h>

enum pp_tls_kind {
    PP_TLS_NONE,
    PP_TLS_FIXED,   /* at thread pointer + offset in every thread: the module was there at start */
    PP_TLS_DYNAMIC, /* at offset in block `module` of the thread's DTV (glibc's dtv_t: {block, to_free}) */
};

struct pp_tls_word {
    uint8_t kind; /* enum pp_tls_kind */
    uint64_t module;
    int64_t offset;
};

/* The word of the calling thread, whose thread pointer is given; 0 if the thread has no such block yet.
 * async-signal-safe: plain loads of the thread's own descriptor, DTV and block. */
uintptr_t pp_tls_read(const struct pp_tls_word *word, uintptr_t thread_pointer);

#endif
