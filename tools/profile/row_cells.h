/* The same without a hash, where that pays: threads with many samples, which are most of a large log, have a row with a
 * place for each node. */
#ifndef PT_PROFILE_ROW_CELLS_H
#define PT_PROFILE_ROW_CELLS_H

#include "sample_sums.h"

struct pt_cell_sum {
    uint64_t count, cpu_ns;
};

/* Of a thread in one state, without labels. */
struct pt_cell_row {
    uint32_t thread, state;
    uint32_t seen;            /* samples before it had places */
    uint32_t capacity;        /* of sums; 0: it has no places */
    struct pt_cell_sum *sums; /* by node; all 0: none */
};

/* Starts as {0}; pt_row_cells_free ends it. */
struct pt_row_cells {
    struct pt_cell_row *rows;
    uint32_t row_count, row_capacity;
    uint32_t *slots, slot_capacity;            /* by thread: which of the following it has, + 1 */
    uint32_t (*rows_of)[PT_STATES_TOLD_APART]; /* row + 1 by state; 0 for none */
    uint32_t rows_of_count, rows_of_capacity;
};

/* Ids from the ends on cannot be in the log's tables. What has no place goes to `others`. */
void pt_row_cells_add(struct pt_row_cells *cells, const struct pt_log_sample *samples, uint32_t count,
                      uint32_t nodes_end, uint32_t threads_end, struct pt_sample_sums *others);
/* All rows are as new then. */
void pt_row_cells_clear(struct pt_row_cells *cells);
void pt_row_cells_free(struct pt_row_cells *cells);

#endif
