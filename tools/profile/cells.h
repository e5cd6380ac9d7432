/* The samples of one segment, added up by the log's own ids before anything is looked up for them: logs have many more
 * records than there are different ones. */
#ifndef PP_PROFILE_CELLS_H
#define PP_PROFILE_CELLS_H

#include "reader.h"

struct pp_cell {
    uint32_t thread, node, labels, state; /* ids as in the log */
    uint64_t count, cpu_ns;
};

#define PP_CELLS_WAITING 16u

/* In the order of first sight. Starts as {0}; pp_cells_free ends it. Most of the time would go into waiting for memory:
 * what was added last waits while its place is fetched. */
struct pp_cells {
    struct pp_cell *items;
    uint32_t count, capacity;
    uint32_t *slots; /* cell + 1, by hash; 0 is free */
    uint32_t mask;
    struct pp_cell waiting[PP_CELLS_WAITING];
    uint32_t waiting_hashes[PP_CELLS_WAITING];
    uint64_t added; /* waiting are the last of so many */
};

void pp_cells_add(struct pp_cells *cells, const struct pp_log_sample *sample);
/* Puts in place what waits; before items are looked at. */
void pp_cells_settle(struct pp_cells *cells);
void pp_cells_clear(struct pp_cells *cells);
void pp_cells_free(struct pp_cells *cells);

#endif
