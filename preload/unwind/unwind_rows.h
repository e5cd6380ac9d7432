/*
 * unwind/ compiles a module's .eh_frame into the rows and rules that the handler walks by (capture/unwind_table.h). It
 * works on copies only: usable on any bytes, at any addresses.
 */
#ifndef PP_UNWIND_UNWIND_ROWS_H
#define PP_UNWIND_UNWIND_ROWS_H

#include "../capture/unwind_table.h"
#include "eh_frame.h"

/* The rows, rules and search blocks of a module, in one mapping. */
struct pp_unwind_rows {
    void *mapping;
    size_t mapped;
    const struct pp_unwind_row *rows;
    const struct pp_unwind_rule *rules;
    const uint32_t *blocks;
    uint32_t row_count, rule_count, block_shift;
    uint32_t functions;         /* FDEs that became rows */
    uint32_t damaged_functions; /* FDEs that could not be read: their code is a gap */
};

/* Compiles the functions in [text_start, text_end). `leading` bytes at the start of the mapping are left to the caller.
 * give_up is polled and may be NULL. False when there is nothing to compile, no memory, or it gave up; then nothing is
 * kept. */
bool pp_unwind_rows_compile(const struct pp_section_copy *hdr, const struct pp_section_copy *eh_frame,
                            uintptr_t text_start, uintptr_t text_end, size_t leading, bool (*give_up)(void),
                            struct pp_unwind_rows *out);

/* Finds the function (FDE) whose rows hold the offset; false when none does. */
bool pp_unwind_rows_function(const struct pp_module_range *range, uint32_t offset, uint32_t *start, uint32_t *end);

#endif
