/* SPDX-License-Identifier: Apache-2.0 */
/* Describes musl's layout of a thread's descriptor on x86-64, of which the thread pointer is the address. It is that of
 * musl 1.2.0 to 1.2.5; pp_libc_find checks it. */
#ifndef PP_ARCH_X86_64_MUSL_H
#define PP_ARCH_X86_64_MUSL_H

#include "opcodes.h"

/* struct pthread {self, dtv, prev, next, sysinfo, canary; int tid, …; map_base, map_size, stack, stack_size,
 * guard_size, result, cancelbuf, tsd, …} */
#define PP_MUSL_TID        48
#define PP_MUSL_STACK      88 /* the end of the stack, where it begins to grow; 0 of the main thread */
#define PP_MUSL_STACK_SIZE 96
#define PP_MUSL_SPECIFIC   128 /* points to the values of the keys, in their order */
#define PP_MUSL_DTV        8

#define PP_PASS_ON_SIZE 8

/* Whether these bytes at `at` pass on what a call has returned: mov %eax,%edi or mov %rax,%rdi; call function. */
static inline bool pp_passes_on_to(const uint8_t code[PP_PASS_ON_SIZE], uintptr_t at, uintptr_t function)
{
    unsigned from = code[0] == 0x48;
    return code[from] == 0x89 && code[from + 1] == 0xC7 && pp_calls(code + from + 2, at + from + 2, function);
}

#endif
