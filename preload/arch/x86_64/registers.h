/* SPDX-License-Identifier: Apache-2.0 */
/* Names x86-64's registers by DWARF number (System V psABI, figure 3.36), and says what the ABI keeps in them. */
#ifndef PP_ARCH_X86_64_REGISTERS_H
#define PP_ARCH_X86_64_REGISTERS_H

#include <stdint.h>

enum {
    PP_REG_RBX = 3,
    PP_REG_FP = 6,
    PP_REG_SP = 7,
    PP_REG_R12 = 12,
    PP_REG_COUNT = 16,
    PP_REG_RA = 16, /* the return address has a column of its own */
    PP_REG_COLUMNS = 17,
    PP_RA_IN_REGISTER = 0, /* whether PP_REG_RA is a register, in which a leaf leaves its return address */
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
typedef uint8_t pp_tracked; /* bits by slot */

/* Converts a mask of slots, the return address's left out, into one of DWARF numbers. */
static inline uint32_t pp_registers_of_slots(uint32_t slots)
{
    return (slots & 1) << PP_REG_RBX | (slots >> 1 & 1) << PP_REG_FP | (slots >> 2 & 0xf) << PP_REG_R12;
}

#define PP_CALLEE_SAVED_MASK  (1u << PP_REG_RBX | 1u << PP_REG_FP | 1u << PP_REG_SP | 0xfu << PP_REG_R12)
#define PP_ALL_REGISTERS_MASK 0xffffu

/* Where a call puts the return address, from the callee's CFA; fp_at: where the callee saves the frame pointer. */
#define PP_RETURN_ADDRESS_AT(fp_at) (-8)

/* Returns the address that code returns to, from the word that it was saved as. async-signal-safe. */
static inline uintptr_t pp_return_address(uintptr_t saved)
{
    return saved;
}

/* A leaf may keep data below its stack pointer; the kernel does not write there when it delivers a signal. */
#define PP_RED_ZONE 128

/* Tells the processor that the upper parts of the vector registers are free. ISA-L's functions do not, and all SSE code
 * after them is slow: that was a sixth of what reading logs takes. For the tools. */
static inline void pp_wide_vectors_end(void)
{
#ifndef __AVX__ /* else the compiler may have something there */
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper");
#endif
}

/* Of libunwind: the processor in the names of its functions, its number of the program counter (its others are
 * DWARF's), and room for a cursor: unw_cursor_t is 127 words up to 1.8, and libunwind/libunwind.c checks that no more
 * are used. */
#define PP_LIBUNWIND_NAME         "x86_64"
#define PP_LIBUNWIND_PC           PP_REG_RA
#define PP_LIBUNWIND_CURSOR_WORDS 192

#endif
