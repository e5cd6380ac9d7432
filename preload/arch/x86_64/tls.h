/* SPDX-License-Identifier: Apache-2.0 */
/* Describes glibc's layout of thread-local storage on x86-64, and the code that reads it. */
#ifndef PP_ARCH_X86_64_TLS_H
#define PP_ARCH_X86_64_TLS_H

#include "syscall.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

enum pp_tls_kind {
    PP_TLS_NONE,
    PP_TLS_FIXED,   /* at thread pointer + offset in every thread: static TLS */
    PP_TLS_DYNAMIC, /* at offset in block `module` of the thread's DTV (glibc's dtv_t: {block, to_free}) */
    PP_TLS_KEY,     /* under the pthread key of the Py_tss_t {int is_created; unsigned key} at address `offset` */
};

/* Offset of struct pthread.specific_1stblock in every x86-64 glibc from 2.4 on; pp_python_key_find checks it. */
#define PP_DESCRIPTOR_SPECIFIC 784

struct pp_tls_word {
    uint8_t kind; /* enum pp_tls_kind */
    uint64_t module;
    int64_t offset;
};

/* struct pthread.tid, at the same place in every glibc from 2.4 on; pp_threads_learn_descriptor checks that. */
#define PP_DESCRIPTOR_TID   720
#define PP_DESCRIPTOR_SELF  16 /* tcbhead_t.self: pthread_self() points to itself */
#define PP_DTV_IN_TCB       8  /* tcbhead_t.dtv */
#define PP_DTV_UNALLOCATED  UINTPTR_MAX
#define PP_DTV_LENGTH_ENTRY (-1) /* dtv[-1].counter: how many entries follow entry 0 */

#define PP_ARCH_GET_FS 0x1003

/* Upper bound of static TLS, in bytes below the thread pointer: heap addresses are larger numbers. */
#define PP_STATIC_TLS_MAX 0x1000000

/* Asks the kernel for this thread's thread pointer: a program may use FS for something else. async-signal-safe. */
static inline bool pp_thread_pointer(uintptr_t *pointer)
{
    return pp_syscall4(SYS_arch_prctl, PP_ARCH_GET_FS, (long)pointer, 0, 0) == 0;
}

/* The object whose code is decoded. module: its dlpi_tls_modid. */
struct pp_tls_object {
    uint64_t module;
    /* Copies bytes; false if they cannot be read. in_object: only from the object's own readable memory. */
    bool (*read)(const void *context, uintptr_t address, void *to, size_t size, bool in_object);
    const void *context;
};

/* Decodes code that was compiled from `return thread_local_word;`, in any x86-64 TLS model as compilers emit and
 * linkers relax it, and returns the word. PP_TLS_NONE if the code, of which `size` bytes are readable, does something
 * else. Normal context. */
struct pp_tls_word pp_tls_of_code(const struct pp_tls_object *object, uintptr_t code, size_t size);

#endif
