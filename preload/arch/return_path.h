/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the return address of code that has no unwind information, by its instructions: musl's, on any processor, and
 * assembly on AArch64 (PP_READS_GAPS). */
#ifndef PP_ARCH_RETURN_PATH_H
#define PP_ARCH_RETURN_PATH_H

#include "arch.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PP_CODE_WINDOW 256

/* The code of a module, which is read in pieces. The caller sets the first three. */
struct pp_code {
    uintptr_t start, end;
    bool (*read)(void *to, uintptr_t from, size_t size);
    uintptr_t window; /* where the bytes are from; 0: there are none */
    uint8_t bytes[PP_CODE_WINDOW + 16];
};

struct pp_return_path {
    uint32_t size;              /* bytes of code from the instruction on for which all this holds */
    uint8_t cfa_register;       /* PP_REG_SP; PP_REG_FP where the function moves the stack pointer as it goes */
    int32_t cfa_offset;         /* from that register */
    uint64_t saved;             /* registers that are restored from the stack, a bit each by DWARF number … */
    int16_t at[PP_REG_COLUMNS]; /* … from CFA + at[number] */
};

/* Returns the bytes from an address on, `longest` at least, zeros after the code's end; NULL: it is outside the code,
 * or cannot be read. */
static inline const uint8_t *pp_code_at(struct pp_code *code, uintptr_t at, size_t longest)
{
    if (at < code->start || at >= code->end)
        return NULL;
    if (!code->window || at < code->window || at - code->window > PP_CODE_WINDOW - longest) {
        size_t size = code->end - at < PP_CODE_WINDOW ? code->end - at : PP_CODE_WINDOW;
        memset(code->bytes, 0, sizeof code->bytes);
        code->window = 0;
        if (!code->read(code->bytes, at, size))
            return NULL;
        code->window = at;
    }
    return code->bytes + (at - code->window);
}

/* Follows the instructions from `at` on, where one begins, to a return. False: they lead to none that can be told.
 * Flush thread. */
bool pp_return_path(struct pp_code *code, uintptr_t at, struct pp_return_path *path);

/* Whether it is what a signal's handler returns to. */
bool pp_is_restorer(const uint8_t code[PP_RESTORER_SIZE]);

#endif
