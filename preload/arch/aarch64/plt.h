/* SPDX-License-Identifier: Apache-2.0 */
/* Knows how linkers describe a procedure linkage table to unwinders: not at all. Its entries push nothing and leave the
 * return address where it is (undescribed.h), but for the first one: x16 and x30, before it jumps to libc's resolver.
 */
#ifndef PP_ARCH_AARCH64_PLT_H
#define PP_ARCH_AARCH64_PLT_H

#include <stddef.h>
#include <stdint.h>

#define PP_PLT_CFA_OFFSET 0 /* from the stack pointer, at the start of an entry */

/* What the resolver's description takes for its caller's, although it is pushed before it begins. */
#define PP_PLT_UNDESCRIBED_PUSH 16

static inline uint8_t pp_plt_expression(const uint8_t *expression, size_t size)
{
    (void)expression, (void)size;
    return 0;
}

static inline uintptr_t pp_plt_pushed(uintptr_t pc, uint8_t from)
{
    (void)pc, (void)from;
    return 0;
}

#endif
