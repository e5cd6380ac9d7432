/* SPDX-License-Identifier: Apache-2.0 */
/* Names x86-64's registers by DWARF number (System V psABI, figure 3.36), and their places in a signal's context. */
#ifndef PP_ARCH_X86_64_REGISTERS_H
#define PP_ARCH_X86_64_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum {
    PP_REG_RBX = 3,
    PP_REG_FP = 6,
    PP_REG_SP = 7,
    PP_REG_R12 = 12,
    PP_REG_COUNT = 16,
    PP_REG_RA = 16, /* the return address has a column of its own */
};

/* The callee-saved registers, which can be followed outward, and the return address, in the order of their slots. */
#define PP_TRACKED_REGISTERS                                                                                           \
    {                                                                                                                  \
        PP_REG_RBX, PP_REG_FP, PP_REG_R12, PP_REG_R12 + 1, PP_REG_R12 + 2, PP_REG_R12 + 3, PP_REG_RA                   \
    }
enum {
    PP_TRACKED_RBX = 0,
    PP_TRACKED_FP = 1,
    PP_TRACKED_RA = 6,
    PP_TRACKED_COUNT = 7,
};
/* Converts a mask of slots, the return address's left out, into one of DWARF numbers. */
static inline uint32_t pp_registers_of_slots(uint32_t slots)
{
    return (slots & 1) << PP_REG_RBX | (slots >> 1 & 1) << PP_REG_FP | (slots >> 2 & 0xf) << PP_REG_R12;
}

#define PP_CALLEE_SAVED_MASK  (1u << PP_REG_RBX | 1u << PP_REG_FP | 1u << PP_REG_SP | 0xfu << PP_REG_R12)
#define PP_ALL_REGISTERS_MASK 0xffffu

/* A leaf may keep data below its stack pointer; the kernel does not write there when it delivers a signal. */
#define PP_RED_ZONE 128

/* gregset_t index of each DWARF register; the kernel's signal frame has the same order. */
#define PP_GREG_OF_DWARF                                                                                               \
    {                                                                                                                  \
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11,      \
            REG_R12, REG_R13, REG_R14, REG_R15                                                                         \
    }

/* gregset_t indices of the stack pointer, the frame pointer and the program counter. */
#define PP_GREG_SP REG_RSP
#define PP_GREG_FP REG_RBP
#define PP_GREG_PC REG_RIP
/* The first registers of gregset_t, r8 to rsp, are the general-purpose ones; flags and the like follow. */
#define PP_GENERAL_GREGS 16

static inline uintptr_t pp_context_pc(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[PP_GREG_PC];
}

static inline uintptr_t pp_context_sp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[PP_GREG_SP];
}

/* Whether the thread was in a system call, which has just returned or is to start again: the instruction leaves its
 * return address in rcx. Code of the thread's own that holds its next address there has just returned from a call. */
static inline bool pp_context_in_call(const ucontext_t *context)
{
    uintptr_t pc = pp_context_pc(context), rcx = (uintptr_t)context->uc_mcontext.gregs[REG_RCX];
    return rcx == pc || rcx == pc + 2;
}

/* The processor in the names of libunwind's functions. */
#define PP_LIBUNWIND_NAME "x86_64"

#endif
