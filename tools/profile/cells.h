/* The samples of one segment, added up by the log's own ids before anything is looked up for them: logs have many more
 * records than there are different ones. */
#ifndef PP_PROFILE_CELLS_H
#define PP_PROFILE_CELLS_H

#include "reader.h"

#define PP_STATES_TOLD_APART 32u /* combinations of PP_STATE_* */

/* Of items each is a sum. In the order of first sight. Starts as {0}; pp_cells_free ends it. */
struct pp_cells {
    struct pp_log_sample *items;
    uint32_t count, capacity;
    uint32_t *slots; /* item + 1, by hash; 0 is free */
    uint32_t mask;
};

/* Faster for many at once: the places of PP_CELLS_TOGETHER are fetched together, and most of the time would go into
 * waiting for memory. */
#define PP_CELLS_TOGETHER 64u
void pp_cells_add(struct pp_cells *cells, const struct pp_log_sample *samples, uint32_t count);
void pp_cells_clear(struct pp_cells *cells);
void pp_cells_free(struct pp_cells *cells);

#endif
