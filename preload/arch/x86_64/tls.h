/* Thread-local storage as glibc lays it out on x86-64, and the code that reads it. */
#ifndef PP_ARCH_TLS_H
#define PP_ARCH_TLS_H

#include "syscall.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

enum pp_tls_kind {
    PP_TLS_NONE,
    PP_TLS_FIXED,   /* at thread pointer + offset in every thread: the module was there at start */
    PP_TLS_DYNAMIC, /* at offset in block `module` of the thread's DTV (glibc's dtv_t: {block, to_free}) */
    PP_TLS_KEY,     /* under the key that {int is_created; unsigned key} at address `offset` (a Py_tss_t) names */
};

/* struct pthread.specific_1stblock, at the same place in every x86-64 glibc from 2.4 on; pp_python_key_find checks
 * that. */
#define PP_DESCRIPTOR_SPECIFIC 784

struct pp_tls_word {
    uint8_t kind; /* enum pp_tls_kind */
    uint64_t module;
    int64_t offset;
};

#define PP_DESCRIPTOR_SELF  16 /* tcbhead_t.self: pthread_self() points to itself */
#define PP_DTV_IN_TCB       8  /* tcbhead_t.dtv */
#define PP_DTV_UNALLOCATED  UINTPTR_MAX
#define PP_DTV_LENGTH_ENTRY (-1) /* dtv[-1].counter: how many entries follow entry 0 */

#define PP_ARCH_GET_FS 0x1003

/* Bytes below the thread pointer that static TLS may take: addresses of a heap are larger numbers. */
#define PP_STATIC_TLS_MAX 0x1000000

/* The calling thread's thread pointer, asked of the kernel: a program may use the FS register for something else.
 * async-signal-safe. */
static inline bool pp_thread_pointer(uintptr_t *pointer)
{
    return pp_syscall4(SYS_arch_prctl, PP_ARCH_GET_FS, (long)pointer, 0, 0) == 0;
}

/* The object whose code is followed, of dl_iterate_phdr's number `module`. */
struct pp_tls_object {
    uint64_t module;
    /* Copies bytes; false where there are none. in_object: of the object's own readable memory only. */
    bool (*read)(const void *context, uintptr_t address, void *to, size_t size, bool in_object);
    const void *context;
};

/* What code that was compiled as `return thread_local_word;` reads, in any of the TLS models of x86-64 as compilers
 * emit and linkers relax them. PP_TLS_NONE when the code, of which `size` bytes can be read, does something else.
 * Normal context. */
struct pp_tls_word pp_tls_of_code(const struct pp_tls_object *object, uintptr_t code, size_t size);

#endif
