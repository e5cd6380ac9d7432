/* SPDX-License-Identifier: Apache-2.0 */
/* Knows code that has no unwind information by its instructions. */
#ifndef PP_ARCH_AARCH64_UNDESCRIBED_H
#define PP_ARCH_AARCH64_UNDESCRIBED_H

#include "opcodes.h"

/* What is looked at before and from the instruction on. */
#define PP_UNDESCRIBED_BEFORE 24
#define PP_RESTORER_SIZE      8
#define PP_UNDESCRIBED_BYTES  48

/* From how many bytes on what is between functions with unwind information is read as code, as less is padding: OpenSSL
 * describes its assembly on x86-64 only. Instructions are of one size, so an address tells what it is. */
#define PP_READS_GAPS       16
#define PP_AT_CALL(address) ((address) % 4 == 3) /* the last byte of a call */

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
        if (!pp_stub_slot(code + at - back, 0, &size) || back >= size)
            continue;
        bool pushed = pp_instruction(code + at - back - 4) == PP_CODE_PUSH_X16_X30;
        return (struct pp_undescribed){pushed ? PP_CODE_FIRST_STUB : PP_CODE_STUB, address + at - back,
                                       address + at - back + size};
    }
    return (struct pp_undescribed){PP_CODE_OTHER, 0, 0};
}

#endif
