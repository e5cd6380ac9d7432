#include "row_cells.h"

#include <stdlib.h>

#include "../base/memory.h"

/* A row's places are made when there are so many nodes to one of its samples, at most: what they take is then a small
 * multiple of what the samples take in the log. */
#define NODES_FOR_A_SAMPLE 4u

/* What can be in a row at all. */
static bool is_plain(const struct pt_log_sample *sample, uint32_t nodes_end, uint32_t threads_end)
{
    return sample->node < nodes_end && sample->thread < threads_end && !sample->labels &&
           sample->state < PT_STATES_TOLD_APART && (sample->count | sample->cpu_ns);
}

/* The sample's place in its row, or NULL. */
static struct pt_cell_sum *sum_of(const struct pt_row_cells *cells, const struct pt_log_sample *sample)
{
    uint32_t slot = cells->slots[sample->thread], number = slot ? cells->rows_of[slot - 1][sample->state] : 0;
    const struct pt_cell_row *row = number ? &cells->rows[number - 1] : NULL;
    return row && sample->node < row->capacity ? &row->sums[sample->node] : NULL;
}

static struct pt_cell_row *add_row(struct pt_row_cells *cells, uint32_t thread, uint32_t state)
{
    uint32_t *slot = &cells->slots[thread];
    if (!*slot) {
        cells->rows_of = pt_grow(cells->rows_of, &cells->rows_of_capacity, (uint64_t)cells->rows_of_count + 1,
                                 sizeof *cells->rows_of);
        *slot = ++cells->rows_of_count;
    }
    uint32_t *number = &cells->rows_of[*slot - 1][state];
    if (!*number) {
        cells->rows = pt_grow(cells->rows, &cells->row_capacity, (uint64_t)cells->row_count + 1, sizeof *cells->rows);
        cells->rows[cells->row_count++] = (struct pt_cell_row){.thread = thread, .state = state};
        *number = cells->row_count;
    }
    return &cells->rows[*number - 1];
}

/* Gives places to the row of a sample that has none, when enough samples have asked for them. */
static bool make_place(struct pt_row_cells *cells, const struct pt_log_sample *sample, uint32_t nodes_end)
{
    struct pt_cell_row *row = add_row(cells, sample->thread, sample->state);
    if (++row->seen < nodes_end / NODES_FOR_A_SAMPLE)
        return false;
    row->sums = pt_grow(row->sums, &row->capacity, nodes_end, sizeof *row->sums);
    return true;
}

static void add_some(struct pt_row_cells *cells, const struct pt_log_sample *samples, uint32_t count,
                     uint32_t nodes_end, uint32_t threads_end, struct pt_sample_sums *others)
{
    struct pt_cell_sum *sums[PT_SUMS_TOGETHER];
    struct pt_log_sample without[PT_SUMS_TOGETHER];
    uint32_t without_count = 0;
    bool moved = false;
    for (uint32_t i = 0; i < count; i++) {
        sums[i] = is_plain(&samples[i], nodes_end, threads_end) ? sum_of(cells, &samples[i]) : NULL;
        __builtin_prefetch(sums[i], 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        if ((!sums[i] || moved) && is_plain(&samples[i], nodes_end, threads_end)) {
            moved |= !sum_of(cells, &samples[i]) && make_place(cells, &samples[i], nodes_end);
            sums[i] = sum_of(cells, &samples[i]);
        }
        if (!sums[i]) {
            without[without_count++] = samples[i];
            continue;
        }
        sums[i]->count += samples[i].count;
        sums[i]->cpu_ns += samples[i].cpu_ns;
    }
    pt_sample_sums_add(others, without, without_count);
}

void pt_row_cells_add(struct pt_row_cells *cells, const struct pt_log_sample *samples, uint32_t count,
                      uint32_t nodes_end, uint32_t threads_end, struct pt_sample_sums *others)
{
    cells->slots = pt_grow(cells->slots, &cells->slot_capacity, threads_end, sizeof *cells->slots);
    for (; count > PT_SUMS_TOGETHER; samples += PT_SUMS_TOGETHER, count -= PT_SUMS_TOGETHER)
        add_some(cells, samples, PT_SUMS_TOGETHER, nodes_end, threads_end, others);
    add_some(cells, samples, count, nodes_end, threads_end, others);
}

void pt_row_cells_clear(struct pt_row_cells *cells)
{
    for (uint32_t i = 0; i < cells->row_count; i++) {
        struct pt_cell_row *row = &cells->rows[i];
        free(row->sums);
        *row = (struct pt_cell_row){.thread = row->thread, .state = row->state};
    }
}

void pt_row_cells_free(struct pt_row_cells *cells)
{
    for (uint32_t i = 0; i < cells->row_count; i++)
        free(cells->rows[i].sums);
    free(cells->rows);
    free(cells->slots);
    free(cells->rows_of);
    *cells = (struct pt_row_cells){0};
}
