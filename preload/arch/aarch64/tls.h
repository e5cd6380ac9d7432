/* SPDX-License-Identifier: Apache-2.0 */
/* Static TLS is above the thread pointer, and glibc's descriptor of the thread below it. */
#ifndef PP_ARCH_AARCH64_TLS_H
#define PP_ARCH_AARCH64_TLS_H

#include "../types.h"

#define PP_DTV_IN_TCB       0
#define PP_DTV_UNALLOCATED  UINTPTR_MAX
#define PP_DTV_LENGTH_ENTRY (-1)

/* In struct pthread: to be found out. */
#define PP_DESCRIPTOR_SPECIFIC 0
#define PP_DESCRIPTOR_TID      0

#define PP_THREAD_POINTER_CALLS
#define PP_TCB_WORDS 2

bool pp_tls_is_static(int64_t offset);
bool pp_thread_pointer(uintptr_t *pointer);
bool pp_is_tcb(const uintptr_t words[PP_TCB_WORDS], uintptr_t thread_pointer);
uintptr_t pp_pthread_of(uintptr_t thread_pointer);
uintptr_t pp_own_thread_pointer(void);
struct pp_tls_word pp_tls_of_code(const struct pp_tls_object *object, uintptr_t code, size_t size);

#endif
