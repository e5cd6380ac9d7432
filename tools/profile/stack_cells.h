/* The same for a profile of stacks only (model.h): summed by node and by thread. The ids of a log are small numbers:
 * nothing has to be hashed. */
#ifndef PP_PROFILE_STACK_CELLS_H
#define PP_PROFILE_STACK_CELLS_H

#include "cells.h"

struct pp_stack_cell {
    uint32_t node;
    bool in_gc;
    uint64_t count, cpu_ns;
};

struct pp_thread_cell {
    uint32_t thread;
    uint64_t cpu_ns[PP_STATES_TOLD_APART]; /* by state */
};

/* Both in the order of first sight. Starts as {0}; pp_stack_cells_free ends it. */
struct pp_stack_cells {
    struct pp_stack_cell *stacks;
    struct pp_thread_cell *threads;
    uint32_t stack_count, stack_capacity, thread_count, thread_capacity;
    /* Cell + 1, 0 for none: by node, outside and inside of a collection; by thread. */
    uint32_t *slots_of_nodes[2], *slots_of_threads;
    uint32_t node_capacity[2], slots_capacity;
};

/* Ids from the ends on cannot be in the log's tables: samples that have them go to `others`. */
void pp_stack_cells_add(struct pp_stack_cells *cells, const struct pp_log_sample *samples, uint32_t count,
                        uint32_t nodes_end, uint32_t threads_end, struct pp_cells *others);
void pp_stack_cells_clear(struct pp_stack_cells *cells);
void pp_stack_cells_free(struct pp_stack_cells *cells);

#endif
