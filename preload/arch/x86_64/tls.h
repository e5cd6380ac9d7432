/* SPDX-License-Identifier: Apache-2.0 */
/* Describes glibc's layout of thread-local storage on x86-64, and the code that reads it. */
#ifndef PP_ARCH_X86_64_TLS_H
#define PP_ARCH_X86_64_TLS_H

#include "../types.h"
#include "syscall.h"
#include <pthread.h>
#include <sys/syscall.h>

/* Offset of struct pthread.specific_1stblock in every x86-64 glibc from 2.4 on; pp_python_key_find checks it. */
#define PP_DESCRIPTOR_SPECIFIC 784

/* struct pthread.tid, at the same place in every glibc from 2.4 on; pp_threads_learn_descriptor checks that. */
#define PP_DESCRIPTOR_TID   720
#define PP_DTV_IN_TCB       8 /* tcbhead_t.dtv */
#define PP_DTV_UNALLOCATED  UINTPTR_MAX
#define PP_DTV_LENGTH_ENTRY (-1) /* dtv[-1].counter: how many entries follow entry 0 */

#define PP_ARCH_GET_FS 0x1003

/* The system call of pp_thread_pointer, in a list. */
#define PP_THREAD_POINTER_CALLS SYS_arch_prctl,

/* Upper bound of static TLS, in bytes below the thread pointer: heap addresses are larger numbers. */
#define PP_STATIC_TLS_MAX 0x1000000

/* Whether a variable so far from the thread pointer is in static TLS, which is below it. */
static inline bool pp_tls_is_static(int64_t offset)
{
    return offset < 0 && offset > -PP_STATIC_TLS_MAX;
}

/* Asks the kernel for this thread's thread pointer: a program may use FS for something else. async-signal-safe. */
static inline bool pp_thread_pointer(uintptr_t *pointer)
{
    return pp_syscall4(SYS_arch_prctl, PP_ARCH_GET_FS, (long)pointer, 0, 0) == 0;
}

#define PP_TCB_WORDS 1

/* Whether the words that were copied from the thread pointer are the head of libc's TCB: its first word, glibc's
 * tcbhead_t.tcb and musl's pthread.self, points to itself. async-signal-safe. */
static inline bool pp_is_tcb(const uintptr_t words[PP_TCB_WORDS], uintptr_t thread_pointer)
{
    return words[0] == thread_pointer;
}

/* Returns the pthread_t of the thread with this thread pointer: libc's descriptor begins with the TCB.
 * async-signal-safe. */
static inline uintptr_t pp_pthread_of(uintptr_t thread_pointer)
{
    return thread_pointer;
}

/* Returns the thread pointer of a thread that libc has made, the calling one. */
static inline uintptr_t pp_own_thread_pointer(void)
{
    return (uintptr_t)pthread_self();
}

/* Decodes code that was compiled from `return thread_local_word;`, in any x86-64 TLS model as compilers emit and
 * linkers relax it, and returns the word. PP_TLS_NONE if the code, of which `size` bytes are readable, does something
 * else. Normal context. */
struct pp_tls_word pp_tls_of_code(const struct pp_tls_object *object, uintptr_t code, size_t size);

#endif
