/* Registers of a signal's context, by DWARF number, on each processor. */
#ifndef PP_TESTS_CONTEXT_REGISTERS_H
#define PP_TESTS_CONTEXT_REGISTERS_H

#include "preload/arch/arch.h"

/* A callee-saved register that is not the frame pointer; the first slot is its. */
#ifdef __x86_64__
#define SAVED_REGISTER PP_REG_RBX
#else
#define SAVED_REGISTER PP_REG_X19
#endif

/* The registers in a context, and libunwind's number of the stack pointer. */
#ifdef __x86_64__
#define SAVED_REGISTERS gregs
#define UNWIND_SP       UNW_X86_64_RSP
#else
#define SAVED_REGISTERS regs
#define UNWIND_SP       UNW_AARCH64_SP
#endif

static inline void put_pc(ucontext_t *context, uintptr_t pc)
{
#ifdef __x86_64__
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
#else
    context->uc_mcontext.pc = pc;
#endif
}

static inline void put_register(ucontext_t *context, unsigned number, uintptr_t value)
{
#ifdef __x86_64__
    context->uc_mcontext.gregs[pp_saved_word[number]] = (greg_t)value;
#else
    if (number == PP_REG_SP)
        context->uc_mcontext.sp = value;
    else
        context->uc_mcontext.regs[number] = value;
#endif
}

/* Has the context be that of a thread in a system call, which has just returned. */
static inline void put_in_call(ucontext_t *context)
{
#ifdef __x86_64__
    put_pc(context, 0x1000);
    context->uc_mcontext.gregs[REG_RCX] = 0x1000;
#else
    static const uint32_t call[] = {0xd503201f, 0xd4000001, 0xd503201f}; /* nop; svc #0; nop */
    put_pc(context, (uintptr_t)&call[2]);
#endif
}

#endif
