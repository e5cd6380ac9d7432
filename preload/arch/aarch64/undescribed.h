/* SPDX-License-Identifier: Apache-2.0 */
/* Knows code that has no unwind information by its instructions. */
#ifndef PP_ARCH_AARCH64_UNDESCRIBED_H
#define PP_ARCH_AARCH64_UNDESCRIBED_H

#include "opcodes.h"

/* What is looked at before and from the instruction on. */
#define PP_UNDESCRIBED_BEFORE 24
#define PP_RESTORER_SIZE      8
#define PP_UNDESCRIBED_BYTES  48

/* Returns what the code around an address is; address: where `code` is, from PP_UNDESCRIBED_BEFORE bytes before the
 * instruction in question on.
 *
 * Entries of a procedure linkage table, which linkers do not describe. And the code that a signal's handler returns to,
 * which the kernel's vDSO has had without a description since Linux 5.8: mov x8, #139; svc #0. The byte before belongs
 * to it, as unwinders look that up. */
static inline struct pp_undescribed pp_undescribed(const uint8_t code[PP_UNDESCRIBED_BYTES], uintptr_t address)
{
    const unsigned at = PP_UNDESCRIBED_BEFORE;
    for (unsigned from = at - 4; from <= at + 4; from += 4)
        if (pp_instruction(code + from) == PP_CODE_MOV_X8_SIGRETURN && pp_instruction(code + from + 4) == PP_CODE_SVC_0)
            return (struct pp_undescribed){PP_CODE_RESTORER, address + from - 4, address + from + 8};
    for (unsigned back = 0; back < PP_STUB_SIZE; back += 4) {
        uint8_t size;
        if (pp_stub_slot(code + at - back, 0, &size) && back < size)
            return (struct pp_undescribed){PP_CODE_STUB, address + at - back, address + at - back + size};
    }
    return (struct pp_undescribed){PP_CODE_OTHER, 0, 0};
}

#define PP_LEAF_STEPS 512 /* instructions, to a return */

/* Whether an instruction may change the stack pointer or x30, but for signatures in that, or is no plain instruction.
 */
static inline bool pp_leaves_a_leaf(uint32_t i)
{
    unsigned to = i & 31, second = i >> 10 & 31, group = i >> 25 & 15;
    bool on_stack = (i >> 5 & 31) == 31, vectors = i >> 26 & 1;
    if ((i & 0x3a000000u) == 0x28000000u) /* pairs: with their base changed, or loads of x30 */
        return (on_stack && i >> 23 & 1) || (!vectors && i >> 22 & 1 && (to == 30 || second == 30));
    if ((i & 0x3a000000u) == 0x38000000u) /* the same of single registers */
        return (on_stack && !(i >> 24 & 1) && !(i >> 21 & 1) && i >> 10 & 1) || (!vectors && to == 30);
    if ((i & 0x3f000000u) == 0x11000000u || (i & 0x3fe00000u) == 0x0b200000u ||
        ((i & 0x1f800000u) == 0x12000000u && (i >> 29 & 3) != 3)) /* add, sub, and, orr, eor, where 31 is sp */
        return to >= 30;
    if ((i & 0xfc000000u) == 0x94000000u || (i & 0xfe000000u) == 0xd6000000u) /* bl, and by a register; ret is above */
        return true;
    if ((i & 0xff000000u) == 0xd4000000u)
        return i != PP_CODE_SVC_0;
    return !i || ((group == 8 || group == 9 || (group & 7) == 5) && to == 30);
}

/* Whether the instruction at `at`, of a module's `size` bytes of code, leads to a return without a change of the stack
 * pointer or x30: these are then what they were when the function was entered. The vDSO has such functions, without a
 * description. */
static inline bool pp_in_leaf(const uint8_t *code, size_t size, size_t at)
{
    for (unsigned steps = 0; steps < PP_LEAF_STEPS && at < size && size - at >= 4; steps++) {
        uint32_t i = pp_instruction(code + at);
        if (i == PP_CODE_RET || i == PP_CODE_RETAA)
            return true;
        if (pp_leaves_a_leaf(i))
            return false;
        at += (i & 0xfc000000u) == 0x14000000u ? (size_t)(pp_signed_field(i, 0, 26) * 4) : 4;
    }
    return false;
}

#endif
