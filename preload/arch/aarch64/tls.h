/* SPDX-License-Identifier: Apache-2.0 */
/* Describes glibc's layout of thread-local storage on AArch64, and the code that reads it: the thread pointer is in
 * TPIDR_EL0; below it is glibc's descriptor of the thread, and from it on are the TCB {dtv, private} and static TLS
 * ("variant I" of U. Drepper, "ELF Handling For Thread-Local Storage"). */
#ifndef PP_ARCH_AARCH64_TLS_H
#define PP_ARCH_AARCH64_TLS_H

#include "../types.h"

/* Offset of struct pthread.specific_1stblock in every AArch64 glibc, from the first, 2.17, on; pp_python_key_find
 * checks it. */
#define PP_DESCRIPTOR_SPECIFIC 272

/* struct pthread.tid, at the same place in all of these; pp_threads_learn_descriptor checks that. */
#define PP_DESCRIPTOR_TID   208
#define PP_DTV_IN_TCB       0 /* tcbhead_t.dtv */
#define PP_DTV_UNALLOCATED  UINTPTR_MAX
#define PP_DTV_LENGTH_ENTRY (-1) /* dtv[-1].counter: how many entries follow entry 0 */

/* The system call of pp_thread_pointer, in a list: there is none. */
#define PP_THREAD_POINTER_CALLS

#define PP_TCB_WORDS 2 /* of musl's, none is used */

/* Upper bound of static TLS, in bytes above the thread pointer: addresses are larger numbers, even in a program that is
 * linked for one address. */
#define PP_STATIC_TLS_MAX 0x400000

/* Whether a variable so far from the thread pointer is in static TLS, which is above it. */
static inline bool pp_tls_is_static(int64_t offset)
{
    return offset >= (int64_t)(PP_TCB_WORDS * sizeof(uintptr_t)) && offset < PP_STATIC_TLS_MAX;
}

/* Returns the thread pointer of a thread that glibc has made, the calling one. */
static inline uintptr_t pp_own_thread_pointer(void)
{
    uintptr_t pointer;
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
    return pointer;
}

/* Reads this thread's thread pointer. async-signal-safe. */
static inline bool pp_thread_pointer(uintptr_t *pointer)
{
    *pointer = pp_own_thread_pointer();
    return true;
}

/* Whether the words that were copied from the thread pointer may be the head of a TCB. They do not say so: the
 * descriptor's tid, which is compared as well, does. async-signal-safe. */
static inline bool pp_is_tcb(const uintptr_t words[PP_TCB_WORDS], uintptr_t thread_pointer)
{
    (void)words;
    return thread_pointer % sizeof(uintptr_t) == 0;
}

extern uint32_t pp_descriptor_bytes; /* 0: not asked for yet */
void pp_descriptor_size_learn(void);

/* Returns the pthread_t of the thread with this thread pointer: libc's descriptor ends there, and glibc's is of another
 * size in each version. async-signal-safe. */
static inline uintptr_t pp_pthread_of(uintptr_t thread_pointer)
{
    if (__builtin_expect(!__atomic_load_n(&pp_descriptor_bytes, __ATOMIC_RELAXED), 0))
        pp_descriptor_size_learn();
    return thread_pointer - __atomic_load_n(&pp_descriptor_bytes, __ATOMIC_RELAXED);
}

/* Decodes code that was compiled from `return thread_local_word;`, in any AArch64 TLS model as compilers emit and
 * linkers relax it, and returns the word. PP_TLS_NONE if the code, of which `size` bytes are readable, does something
 * else. Normal context. */
struct pp_tls_word pp_tls_of_code(const struct pp_tls_object *object, uintptr_t code, size_t size);

#endif
