/* The same for a profile of stacks only (model.h): summed by node and by thread. The ids of a log are small numbers:
 * nothing has to be hashed. */
#ifndef PT_PROFILE_STACK_CELLS_H
#define PT_PROFILE_STACK_CELLS_H

#include "sample_sums.h"

struct pt_stack_sum {
    uint32_t node;
    bool in_gc;
    uint64_t count, cpu_ns;
};

struct pt_thread_sum {
    uint32_t thread;
    uint64_t cpu_ns[PT_STATES_TOLD_APART]; /* by state */
};

/* Both in the order of first sight. Starts as {0}; pt_stack_sums_free ends it. */
struct pt_stack_sums {
    struct pt_stack_sum *stacks;
    struct pt_thread_sum *threads;
    uint32_t stack_count, stack_capacity, thread_count, thread_capacity;
    /* Cell + 1, 0 for none: by node, outside and inside of a collection; by thread. */
    uint32_t *slots_of_nodes[2], *slots_of_threads;
    uint32_t node_capacity[2], slots_capacity;
};

/* Ids from the ends on cannot be in the log's tables: samples that have them go to `others`. */
void pt_stack_sums_add(struct pt_stack_sums *cells, const struct pt_log_sample *samples, uint32_t count,
                       uint32_t nodes_end, uint32_t threads_end, struct pt_sample_sums *others);
void pt_stack_sums_clear(struct pt_stack_sums *cells);
void pt_stack_sums_free(struct pt_stack_sums *cells);

#endif
