/* SPDX-License-Identifier: Apache-2.0 */
/* Knows code that has no unwind information by its instructions: none, as linkers and libc describe theirs. */
#ifndef PP_ARCH_X86_64_UNDESCRIBED_H
#define PP_ARCH_X86_64_UNDESCRIBED_H

#include "../types.h"

#define PP_UNDESCRIBED_BEFORE 0
#define PP_RESTORER_SIZE      9 /* mov $15, %rax; syscall */
#define PP_UNDESCRIBED_BYTES  0
#define PP_READS_GAPS         0     /* never */
#define PP_AT_CALL(address)   false /* no address tells */

static inline struct pp_undescribed pp_undescribed(const uint8_t *code, uintptr_t address)
{
    (void)code, (void)address;
    return (struct pp_undescribed){PP_CODE_OTHER, 0, 0};
}

#endif
