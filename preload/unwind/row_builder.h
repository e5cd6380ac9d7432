/* Collects rows in ascending order and the distinct rules that they use, in mappings of its own. */
#ifndef PP_UNWIND_ROW_BUILDER_H
#define PP_UNWIND_ROW_BUILDER_H

#include "../base/arena.h"
#include "../capture/unwind_table.h"
#include "cfi.h"

struct pp_row_builder {
    struct pp_vector rows;  /* struct pp_unwind_row */
    struct pp_vector rules; /* struct pp_unwind_rule */
    uint32_t *hash;         /* rule number + 1 by hash of the rule, 0: free */
    uint32_t hash_size;     /* a power of two */
    bool out_of_memory;
};

void pp_row_builder_start(struct pp_row_builder *builder);
/* Adds a row from pc on, which is after the last row's or equal (then that row is replaced). */
void pp_row_builder_add(struct pp_row_builder *builder, uint32_t pc, uint32_t rule);
/* Returns the number of the rule for a state. */
uint32_t pp_row_builder_rule(struct pp_row_builder *builder, const struct pp_cfi_state *state, bool signal_frame);
void pp_row_builder_free(struct pp_row_builder *builder);

#endif
