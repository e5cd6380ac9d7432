/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the rows of functions and the distinct rules that they use, in mappings of its own. */
#ifndef PP_UNWIND_ROW_BUILDER_H
#define PP_UNWIND_ROW_BUILDER_H

#include "../base/arena.h"
#include "../capture/unwind_table.h"
#include "cfi.h"

struct pp_row_builder {
    struct pp_vector rows;  /* struct pp_unwind_row, ascending from pc 0 on */
    struct pp_vector fresh; /* those of the function that is being compiled */
    struct pp_vector rules; /* struct pp_unwind_rule */
    uint32_t *hash;         /* rule number + 1 by hash of the rule, 0: free */
    uint32_t hash_size;     /* a power of two */
    bool out_of_memory;
};

/* Starts with a module's rows and rules, or without any: all code is PP_RULE_UNKNOWN. False: no memory. */
bool pp_row_builder_start(struct pp_row_builder *builder, const struct pp_module_range *module);
/* Adds a row to the fresh ones, from pc on, which is after the last row's or equal (then that row is replaced). */
void pp_row_builder_add(struct pp_row_builder *builder, uint32_t pc, uint32_t rule);
/* Moves the fresh rows, which begin at `start`, to the rows. They hold up to `end`, or to what is known beyond it. What
 * is known at `start` stays. False: no memory. */
bool pp_row_builder_insert(struct pp_row_builder *builder, uint32_t start, uint32_t end);
/* Returns the index of the row that holds the offset. */
size_t pp_row_builder_find(const struct pp_row_builder *builder, uint32_t offset);
/* Returns the number of the rule for a state. */
uint32_t pp_row_builder_rule(struct pp_row_builder *builder, const struct pp_cfi_state *state, bool signal_frame);
/* Returns the number of the rule for code that is known by its instructions. */
uint32_t pp_row_builder_undescribed(struct pp_row_builder *builder, enum pp_undescribed_kind kind);
void pp_row_builder_free(struct pp_row_builder *builder);

#endif
