/* SPDX-License-Identifier: Apache-2.0 */
/* Names AArch64's registers by DWARF number (DWARF for the Arm 64-bit Architecture, 4.1), and says what the ABI keeps
 * in them. */
#ifndef PP_ARCH_AARCH64_REGISTERS_H
#define PP_ARCH_AARCH64_REGISTERS_H

#include "memory.h"
#include <stdint.h>

enum {
    PP_REG_X19 = 19,
    PP_REG_FP = 29,
    PP_REG_RA = 30, /* x30: a call puts the return address there, and a leaf leaves it */
    PP_REG_SP = 31,
    PP_REG_COUNT = 32,
    PP_REG_COLUMNS = 32,
    PP_RA_IN_REGISTER = 1, /* whether PP_REG_RA is a register, in which a leaf leaves its return address */
};

/* The callee-saved registers, which can be followed outward, and the return address, in the order of their slots. */
#define PP_TRACKED_REGISTERS                                                                                           \
    {                                                                                                                  \
        PP_REG_X19, PP_REG_X19 + 1, PP_REG_X19 + 2, PP_REG_X19 + 3, PP_REG_X19 + 4, PP_REG_X19 + 5, PP_REG_X19 + 6,    \
            PP_REG_X19 + 7, PP_REG_X19 + 8, PP_REG_X19 + 9, PP_REG_FP, PP_REG_RA                                       \
    }
enum {
    PP_TRACKED_FP = 10,
    PP_TRACKED_RA = 11,
    PP_TRACKED_COUNT = 12,
};
typedef uint16_t pp_tracked; /* bits by slot */

/* Converts a mask of slots, the return address's left out, into one of DWARF numbers. */
static inline uint32_t pp_registers_of_slots(uint32_t slots)
{
    return (slots & 0x7ff) << PP_REG_X19;
}

/* Not x30: after a call it holds the callee's return address. */
#define PP_CALLEE_SAVED_MASK  (0x7ffu << PP_REG_X19 | 1u << PP_REG_SP)
#define PP_ALL_REGISTERS_MASK UINT32_MAX

/* Where a function that saves its caller's frame pointer saves the return address, from its CFA: after it. */
#define PP_RETURN_ADDRESS_AT(fp_at) ((fp_at) + 8)

/* Returns the address that code returns to, from the word that it was saved as, which may be signed: the signature is
 * in the bits that no address has (xpaclri would do the same). async-signal-safe. */
static inline uintptr_t pp_return_address(uintptr_t saved)
{
    return saved & PP_HIGHEST_ADDRESS;
}

/* A leaf keeps nothing below its stack pointer. */
#define PP_RED_ZONE 0

/* There are no upper parts that slow down what follows. For the tools. */
static inline void pp_wide_vectors_end(void)
{
}

/* Of libunwind: the processor in the names of its functions, its number of the program counter (its others are
 * DWARF's), and room for a cursor: unw_cursor_t is 250 words in 1.6, and libunwind/libunwind.c checks that no more are
 * used. */
#define PP_LIBUNWIND_NAME         "aarch64"
#define PP_LIBUNWIND_PC           32
#define PP_LIBUNWIND_CURSOR_WORDS 512

#endif
