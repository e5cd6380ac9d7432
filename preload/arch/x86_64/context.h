/* SPDX-License-Identifier: Apache-2.0 */
/* Reads registers out of a signal's context, and knows where the kernel keeps them in the frame that it pushes for a
 * handler. All are async-signal-safe. */
#ifndef PP_ARCH_X86_64_CONTEXT_H
#define PP_ARCH_X86_64_CONTEXT_H

#include "registers.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* Where each register is among the saved ones, in words from the first: the order of gregset_t and of the kernel's
 * signal frame. */
static const uint8_t pp_saved_word[PP_REG_COUNT] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                    REG_R12, REG_R13, REG_R14, REG_R15};
enum {
    PP_SAVED_WORD_SP = REG_RSP,
    PP_SAVED_WORD_PC = REG_RIP,
};

/* Where the first of them is, from the stack pointer with which a handler returns. */
#define PP_SAVED_AT ((int32_t)offsetof(ucontext_t, uc_mcontext.gregs))

static inline uintptr_t pp_context_pc(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

static inline uintptr_t pp_context_sp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

/* Copies the registers, in the order of their DWARF numbers. */
static inline void pp_context_registers(const ucontext_t *context, uintptr_t registers[PP_REG_COUNT])
{
    for (unsigned i = 0; i < PP_REG_COUNT; i++)
        registers[i] = (uintptr_t)context->uc_mcontext.gregs[pp_saved_word[i]];
}

/* Returns a general-purpose register, of PP_REG_COUNT in any order. */
static inline uintptr_t pp_context_word(const ucontext_t *context, unsigned number)
{
    return (uintptr_t)context->uc_mcontext.gregs[number]; /* r8 to rsp; flags and the like follow */
}

/* Has the context be in other code, on another stack. */
static inline void pp_context_set(ucontext_t *context, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    context->uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
}

#define PP_CALL_CODE_BYTES 0 /* pp_context_in_call needs no code */

/* Whether the thread was in a system call, which has just returned or is to start again: the instruction leaves its
 * return address in rcx. Code of the thread's own that holds its next address there has just returned from a call. */
static inline bool pp_context_in_call(const ucontext_t *context, const uint8_t *code)
{
    (void)code;
    uintptr_t pc = pp_context_pc(context), rcx = (uintptr_t)context->uc_mcontext.gregs[REG_RCX];
    return rcx == pc || rcx == pc + 2;
}

/* What the kernel takes of a stack for a signal, before Linux 5.14, which has no AT_MINSIGSTKSZ. */
#define PP_USUAL_MINSIGSTKSZ 4096

#define PP_FLAG_ALIGNMENT_CHECK 0x40000u /* EFLAGS.AC */

/* Clears EFLAGS.AC, which a handler inherits from the interrupted code: a program may want a fault at each unaligned
 * access, and our copies are unaligned. sigreturn restores the flag. */
static inline void pp_allow_unaligned(void)
{
    uint64_t flags = __builtin_ia32_readeflags_u64();
    if (flags & PP_FLAG_ALIGNMENT_CHECK)
        __builtin_ia32_writeeflags_u64(flags & ~(uint64_t)PP_FLAG_ALIGNMENT_CHECK);
}

#endif
