/* SPDX-License-Identifier: Apache-2.0 */
/* Knows how linkers describe a procedure linkage table to unwinders: one expression for all entries, of 16 bytes. From
 * some byte of an entry on, its code has pushed a word. */
#ifndef PP_ARCH_X86_64_PLT_H
#define PP_ARCH_X86_64_PLT_H

#include "registers.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PP_PLT_CFA_OFFSET       8 /* from the stack pointer, at the start of an entry */
#define PP_PLT_UNDESCRIBED_PUSH 0 /* what libc's resolver leaves out of its frame */

/* Returns from which byte of an entry on a word more is on the stack, by the DWARF expression of the CFA; 0: it is not
 * that of a PLT. breg7 (rsp) 8; breg16 (rip) 0; lit15; and; lit N; ge; lit3; shl; plus. */
static inline uint8_t pp_plt_expression(const uint8_t *expression, size_t size)
{
    enum { AND = 0x1a, PLUS = 0x22, SHL = 0x24, GE = 0x2a, LIT0 = 0x30, BREG0 = 0x70 };
    static const uint8_t before[] = {BREG0 + PP_REG_SP, PP_PLT_CFA_OFFSET, BREG0 + PP_REG_RA, 0, LIT0 + 15, AND};
    static const uint8_t after[] = {GE, LIT0 + 3, SHL, PLUS};
    if (size != sizeof before + 1 + sizeof after || memcmp(expression, before, sizeof before) != 0 ||
        memcmp(expression + sizeof before + 1, after, sizeof after) != 0)
        return 0;
    uint8_t from = expression[sizeof before];
    return from > LIT0 && from <= LIT0 + 15 ? from - LIT0 : 0;
}

/* Returns how many bytes the entry has pushed at this address, from what pp_plt_expression returned. async-signal-safe.
 */
static inline uintptr_t pp_plt_pushed(uintptr_t pc, uint8_t from)
{
    return (pc & 15) >= from ? sizeof(uintptr_t) : 0;
}

#endif
