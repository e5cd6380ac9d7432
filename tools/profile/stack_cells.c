#include "stack_cells.h"

#include <stdlib.h>
#include <string.h>

#include "../memory.h"
#include "states.h"

static struct pp_stack_cell *new_stack(struct pp_stack_cells *cells, uint32_t node, bool in_gc)
{
    uint32_t count = cells->stack_count++;
    cells->stacks = pp_grow_raw(cells->stacks, &cells->stack_capacity, (uint64_t)count + 1, sizeof *cells->stacks);
    cells->stacks[count] = (struct pp_stack_cell){.node = node, .in_gc = in_gc};
    cells->slots_of_nodes[in_gc][node] = count + 1;
    return &cells->stacks[count];
}

static struct pp_thread_cell *new_thread(struct pp_stack_cells *cells, uint32_t thread)
{
    uint32_t count = cells->thread_count++;
    cells->threads = pp_grow_raw(cells->threads, &cells->thread_capacity, (uint64_t)count + 1, sizeof *cells->threads);
    cells->threads[count] = (struct pp_thread_cell){.thread = thread};
    cells->slots_of_threads[thread] = count + 1;
    return &cells->threads[count];
}

static void add(struct pp_stack_cells *cells, const struct pp_log_sample *sample)
{
    bool in_gc = pp_in_gc(sample->state);
    uint32_t slot = cells->slots_of_nodes[in_gc][sample->node], thread = cells->slots_of_threads[sample->thread];
    struct pp_stack_cell *stack = slot ? &cells->stacks[slot - 1] : new_stack(cells, sample->node, in_gc);
    struct pp_thread_cell *own = thread ? &cells->threads[thread - 1] : new_thread(cells, sample->thread);
    stack->count += sample->count;
    stack->cpu_ns += sample->cpu_ns;
    own->cpu_ns[sample->state] += sample->cpu_ns;
}

void pp_stack_cells_add(struct pp_stack_cells *cells, const struct pp_log_sample *samples, uint32_t count,
                        uint32_t nodes_end, uint32_t threads_end, struct pp_cells *others)
{
    for (int i = 0; i < 2; i++)
        cells->slots_of_nodes[i] =
            pp_grow(cells->slots_of_nodes[i], &cells->node_capacity[i], nodes_end, sizeof(uint32_t));
    cells->slots_of_threads = pp_grow(cells->slots_of_threads, &cells->slots_capacity, threads_end, sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) {
        const struct pp_log_sample *sample = &samples[i];
        if (sample->node < nodes_end && sample->thread < threads_end && sample->state < PP_STATES_TOLD_APART)
            add(cells, sample);
        else
            pp_cells_add(others, sample, 1);
    }
}

void pp_stack_cells_clear(struct pp_stack_cells *cells)
{
    for (uint32_t i = 0; i < cells->stack_count; i++)
        cells->slots_of_nodes[cells->stacks[i].in_gc][cells->stacks[i].node] = 0;
    for (uint32_t i = 0; i < cells->thread_count; i++)
        cells->slots_of_threads[cells->threads[i].thread] = 0;
    cells->stack_count = cells->thread_count = 0;
}

void pp_stack_cells_free(struct pp_stack_cells *cells)
{
    free(cells->stacks);
    free(cells->threads);
    free(cells->slots_of_nodes[0]);
    free(cells->slots_of_nodes[1]);
    free(cells->slots_of_threads);
    *cells = (struct pp_stack_cells){0};
}
