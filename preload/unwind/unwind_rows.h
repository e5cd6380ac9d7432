/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind/ compiles the call frame information of single functions, those that samples met, into the rows and rules that
 * the walker uses (capture/unwind_table.h). Flush thread only.
 */
#ifndef PP_UNWIND_UNWIND_ROWS_H
#define PP_UNWIND_UNWIND_ROWS_H

#include "fde_search.h"
#include "row_builder.h"

/* Only modules as small as the vDSO are searched for code that has no unwind information. */
#define PP_SMALL_TEXT 0x10000u

/* A module's rows while functions are added to them. */
struct pp_unwind_draft {
    struct pp_row_builder builder;
    bool changed;       /* since it was packed */
    uint32_t blocks[3]; /* of pp_unwind_draft_show */
};

/* The head of a mapping that holds a module's rows, rules and search blocks. */
struct pp_unwind_rows {
    uint64_t owners[2]; /* the caller's */
    size_t mapped;
    const struct pp_unwind_row *rows;
    const struct pp_unwind_rule *rules;
    const uint32_t *blocks;
    uint32_t row_count, rule_count, block_shift;
};

/* Starts with the module's present rows. False: no memory. */
bool pp_unwind_draft_start(struct pp_unwind_draft *draft, const struct pp_module_range *module);
/* Adds the rows of the function that holds the address, or that there is none. False: no memory. */
bool pp_unwind_draft_add(struct pp_unwind_draft *draft, const struct pp_unwind_source *source, uintptr_t address);
/* Lets the range show the draft's rows. Valid until the next pp_unwind_draft_add. */
void pp_unwind_draft_show(struct pp_unwind_draft *draft, struct pp_module_range *range);
/* Packs the rows for handlers. More can be added to the draft then. NULL: no memory. */
struct pp_unwind_rows *pp_unwind_draft_pack(struct pp_unwind_draft *draft, const struct pp_unwind_source *source);
void pp_unwind_draft_free(struct pp_unwind_draft *draft);

/* Finds the function (FDE) whose rows hold the offset; false when none does. */
bool pp_unwind_rows_function(const struct pp_module_range *range, uint32_t offset, uint32_t *start, uint32_t *end);

#endif
