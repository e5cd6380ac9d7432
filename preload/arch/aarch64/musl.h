/* SPDX-License-Identifier: Apache-2.0 */
/* Describes musl's layout of a thread's descriptor on AArch64, which ends at the thread pointer. It is that of struct
 * pthread in src/internal/pthread_impl.h of musl 1.2.0 to 1.2.5, where TLS_ABOVE_TP is defined; pp_libc_find checks it.
 */
#ifndef PP_ARCH_AARCH64_MUSL_H
#define PP_ARCH_AARCH64_MUSL_H

#include "opcodes.h"

/* struct pthread {self, prev, next, sysinfo; int tid, …; map_base, map_size, stack, stack_size, guard_size, result,
 * cancelbuf, tsd, …, canary, dtv} */
#define PP_MUSL_TID        32
#define PP_MUSL_STACK      72 /* the end of the stack, where it begins to grow; 0 of the main thread */
#define PP_MUSL_STACK_SIZE 80
#define PP_MUSL_SPECIFIC   112  /* points to the values of the keys, in their order */
#define PP_MUSL_DTV        (-8) /* from the thread pointer: the last field */

#define PP_PASS_ON_SIZE PP_CALL_SIZE

/* Whether these bytes at `at` pass on what a call has returned, which is where the argument is to be: bl function. */
static inline bool pp_passes_on_to(const uint8_t code[PP_PASS_ON_SIZE], uintptr_t at, uintptr_t function)
{
    return pp_calls(code, at, function);
}

#endif
