#include "stack_sums.h"

#include <stdlib.h>
#include <string.h>

#include "../base/memory.h"
#include "../view/gil_gc.h"

static struct pt_stack_sum *new_stack(struct pt_stack_sums *cells, uint32_t node, bool in_gc)
{
    uint32_t count = cells->stack_count++;
    cells->stacks = pt_grow_raw(cells->stacks, &cells->stack_capacity, (uint64_t)count + 1, sizeof *cells->stacks);
    cells->stacks[count] = (struct pt_stack_sum){.node = node, .in_gc = in_gc};
    cells->slots_of_nodes[in_gc][node] = count + 1;
    return &cells->stacks[count];
}

static struct pt_thread_sum *new_thread(struct pt_stack_sums *cells, uint32_t thread)
{
    uint32_t count = cells->thread_count++;
    cells->threads = pt_grow_raw(cells->threads, &cells->thread_capacity, (uint64_t)count + 1, sizeof *cells->threads);
    cells->threads[count] = (struct pt_thread_sum){.thread = thread};
    cells->slots_of_threads[thread] = count + 1;
    return &cells->threads[count];
}

static void add(struct pt_stack_sums *cells, const struct pt_log_sample *sample)
{
    bool in_gc = pt_in_gc(sample->state);
    uint32_t slot = cells->slots_of_nodes[in_gc][sample->node], thread = cells->slots_of_threads[sample->thread];
    struct pt_stack_sum *stack = slot ? &cells->stacks[slot - 1] : new_stack(cells, sample->node, in_gc);
    struct pt_thread_sum *own = thread ? &cells->threads[thread - 1] : new_thread(cells, sample->thread);
    stack->count += sample->count;
    stack->cpu_ns += sample->cpu_ns;
    own->cpu_ns[sample->state] += sample->cpu_ns;
}

void pt_stack_sums_add(struct pt_stack_sums *cells, const struct pt_log_sample *samples, uint32_t count,
                       uint32_t nodes_end, uint32_t threads_end, struct pt_sample_sums *others)
{
    for (int i = 0; i < 2; i++)
        cells->slots_of_nodes[i] =
            pt_grow(cells->slots_of_nodes[i], &cells->node_capacity[i], nodes_end, sizeof(uint32_t));
    cells->slots_of_threads = pt_grow(cells->slots_of_threads, &cells->slots_capacity, threads_end, sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_log_sample *sample = &samples[i];
        if (sample->node < nodes_end && sample->thread < threads_end && sample->state < PT_STATES_TOLD_APART)
            add(cells, sample);
        else
            pt_sample_sums_add(others, sample, 1);
    }
}

void pt_stack_sums_clear(struct pt_stack_sums *cells)
{
    for (uint32_t i = 0; i < cells->stack_count; i++)
        cells->slots_of_nodes[cells->stacks[i].in_gc][cells->stacks[i].node] = 0;
    for (uint32_t i = 0; i < cells->thread_count; i++)
        cells->slots_of_threads[cells->threads[i].thread] = 0;
    cells->stack_count = cells->thread_count = 0;
}

void pt_stack_sums_free(struct pt_stack_sums *cells)
{
    free(cells->stacks);
    free(cells->threads);
    free(cells->slots_of_nodes[0]);
    free(cells->slots_of_nodes[1]);
    free(cells->slots_of_threads);
    *cells = (struct pt_stack_sums){0};
}
