/* SPDX-License-Identifier: Apache-2.0 */
/* Reads registers out of a signal's context, and knows where the kernel keeps them in the frame that it pushes for a
 * handler. All are async-signal-safe. Vector, SVE and SME registers, which follow in records of any size, are of no
 * concern: all that is read is before them. */
#ifndef PP_ARCH_AARCH64_CONTEXT_H
#define PP_ARCH_AARCH64_CONTEXT_H

#include "opcodes.h"
#include "registers.h"
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/* Where each register is among the saved ones, in words from the first: struct sigcontext has regs[31], sp, pc. */
static const uint8_t pp_saved_word[PP_REG_COUNT] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
enum {
    PP_SAVED_WORD_SP = 31,
    PP_SAVED_WORD_PC = 32,
};

/* Where the first of them is, from the stack pointer with which a handler returns: after the siginfo_t. */
#define PP_SAVED_AT ((int32_t)(sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs)))

static inline uintptr_t pp_context_pc(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.pc;
}

static inline uintptr_t pp_context_sp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.sp;
}

/* Copies the registers, in the order of their DWARF numbers. */
static inline void pp_context_registers(const ucontext_t *context, uintptr_t registers[PP_REG_COUNT])
{
    memcpy(registers, context->uc_mcontext.regs, sizeof context->uc_mcontext.regs);
    registers[PP_REG_SP] = (uintptr_t)context->uc_mcontext.sp;
}

/* Returns a general-purpose register, of PP_REG_COUNT in any order. */
static inline uintptr_t pp_context_word(const ucontext_t *context, unsigned number)
{
    return number == PP_REG_SP ? pp_context_sp(context) : (uintptr_t)context->uc_mcontext.regs[number];
}

/* Has the context be in other code, on another stack. */
static inline void pp_context_set(ucontext_t *context, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    context->uc_mcontext.pc = pc;
    context->uc_mcontext.sp = sp;
    context->uc_mcontext.regs[PP_REG_FP] = fp;
    context->uc_mcontext.regs[PP_REG_RA] = 0;
}

/* The bytes around the pc, half before it and half from it on, by which pp_context_in_call decides. */
#define PP_CALL_CODE_BYTES 8

/* Whether the thread was in a system call, which has just returned or is to start again. No register says so, but the
 * instruction before or at the pc; `code`: NULL if it cannot be read, as code that is executable only. */
static inline bool pp_context_in_call(const ucontext_t *context, const uint8_t *code)
{
    (void)context;
    return code && (pp_instruction(code) == PP_CODE_SVC_0 || pp_instruction(code + 4) == PP_CODE_SVC_0);
}

/* What the kernel takes of a stack for a signal, before it had AT_MINSIGSTKSZ (Linux 4.18). */
#define PP_USUAL_MINSIGSTKSZ 5120

/* No program can have unaligned accesses refused. */
static inline void pp_allow_unaligned(void)
{
}

#endif
