/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PP_ARCH_AARCH64_CONTEXT_H
#define PP_ARCH_AARCH64_CONTEXT_H

#include "registers.h"
#include <stdbool.h>
#include <ucontext.h>

/* struct sigcontext: regs, sp, pc. The vDSO describes the frame pointer and x30 only, not this. */
static const uint8_t pp_saved_word[PP_REG_COUNT] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
enum {
    PP_SAVED_WORD_SP = 31,
    PP_SAVED_WORD_PC = 32,
};

#define PP_USUAL_MINSIGSTKSZ 5120

uintptr_t pp_context_pc(const ucontext_t *context);
uintptr_t pp_context_sp(const ucontext_t *context);
void pp_context_registers(const ucontext_t *context, uintptr_t registers[PP_REG_COUNT]);
uintptr_t pp_context_word(const ucontext_t *context, unsigned number);
void pp_context_set(ucontext_t *context, uintptr_t pc, uintptr_t sp, uintptr_t fp);
bool pp_context_in_call(const ucontext_t *context);
void pp_allow_unaligned(void);

#endif
