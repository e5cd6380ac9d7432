/* SPDX-License-Identifier: Apache-2.0 */
#include "many.h"

#include <stdlib.h>

#include "../view/sample_order.h"
#include "buckets.h"
#include "nodes.h"

#define GIL_STATES ((uint32_t)(PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL))

/* Threads that are equal in what the page shows, and the first of them. */
struct alike {
    uint32_t side, process, name, thread, first;
};
struct all_alike {
    PT_TABLE_OF(struct alike) kinds;
};
PT_DEFINE_ADD(static uint32_t add_alike, struct all_alike, kinds, struct alike, item->side, item->process, item->name,
              item->thread)

/* Returns, by thread, the thread that represents it. The caller frees. */
static uint32_t *threads_like(const struct pt_flame *flame, enum pt_flame_detail detail)
{
    uint32_t base = 0, *like = pt_alloc(pt_flame_threads(flame), sizeof *like);
    struct all_alike all = {0};
    for (unsigned side = 0; side < flame->side_count; base += flame->sides[side++]->threads.count)
        for (uint32_t i = 0; i < flame->sides[side]->threads.count; i++) {
            const struct pt_thread *thread = &flame->sides[side]->threads.items[i];
            const struct alike alike = {.side = side,
                                        .process = detail <= PT_FLAME_PROCESSES ? thread->process : 0,
                                        .name = detail <= PT_FLAME_NAMES ? thread->name : 0,
                                        .thread = detail <= PT_FLAME_THREADS ? i : 0,
                                        .first = base + i};
            uint32_t kind = add_alike(&all, &alike);
            like[base + i] = all.kinds.items[kind].first;
        }
    PT_FREE_TABLE(&all.kinds);
    return like;
}

/* Moves all samples of the sides into the tree, with its numbers. */
static void move_samples(struct pt_flame *flame)
{
    struct pt_profile *merged = flame->merged;
    uint32_t base = 0;
    for (unsigned side = 0; side < flame->side_count; side++) {
        uint32_t count, *nodes = pt_flame_add_nodes(flame, flame->sides[side]);
        struct pt_sample *samples = pt_take_samples(flame->sides[side], &count);
        for (uint32_t i = 0; i < count; i++) {
            struct pt_sample *sample = &samples[i];
            *sample = (struct pt_sample){.thread = base + sample->thread,
                                         .node = nodes[sample->node],
                                         .state = sample->state & GIL_STATES,
                                         .count = sample->count,
                                         .cpu_ns = sample->cpu_ns};
        }
        if (!merged->samples.count) {
            merged->samples.items = samples;
            merged->samples.count = merged->samples.capacity = count;
        } else {
            for (uint32_t i = 0; i < count; i++)
                pt_append_sample(merged, &samples[i]);
            free(samples);
        }
        base += flame->sides[side]->threads.count;
        free(nodes);
    }
}

static uint32_t state_in(enum pt_flame_detail detail, uint32_t state)
{
    return detail == PT_FLAME_ALL ? state : 0;
}

/* Counts the cells that there would be with each detail. */
static void count_cells(const struct pt_flame *flame, uint32_t *const like[], struct pt_sample_order *order,
                        uint64_t counts[])
{
    uint32_t *seen_at[PT_FLAME_DETAILS]; /* by thread and state: the last node */
    for (unsigned detail = 0; detail < PT_FLAME_DETAILS; detail++)
        seen_at[detail] = pt_alloc((size_t)pt_flame_threads(flame) * (GIL_STATES + 1), sizeof *seen_at[0]);
    for (uint32_t node = 1; node < flame->merged->nodes.count; node++) {
        const struct pt_sample *samples;
        uint32_t count = pt_samples_of_node(order, node, &samples);
        for (uint32_t i = 0; i < count; i++)
            for (unsigned detail = 0; detail < PT_FLAME_DETAILS; detail++) {
                uint32_t *seen = &seen_at[detail][(size_t)like[detail][samples[i].thread] * (GIL_STATES + 1) +
                                                  state_in(detail, samples[i].state)];
                counts[detail] += *seen != node;
                *seen = node;
            }
    }
    for (unsigned detail = 0; detail < PT_FLAME_DETAILS; detail++)
        free(seen_at[detail]);
}

/* Samples become cells: one for each node, state, and thread or its representative. */
static void merge_alike(struct pt_flame *flame, struct pt_sample_order *order, const uint32_t *like)
{
    struct pt_profile *merged = flame->merged;
    struct pt_sample *cells = NULL;
    uint32_t cell_count = 0, capacity = 0;
    for (uint32_t i = 0; i < merged->samples.count; i++) {
        struct pt_sample *sample = &merged->samples.items[i];
        sample->thread = like[sample->thread];
        sample->state = state_in(flame->detail, sample->state) & PT_MAX_STATES;
    }
    for (uint32_t node = 1; node < merged->nodes.count; node++) {
        const struct pt_sample *samples;
        uint32_t count = pt_samples_of_node(order, node, &samples);
        cells = pt_grow_raw(cells, &capacity, (uint64_t)cell_count + count, sizeof *cells);
        for (uint32_t i = 0; i < count; i++)
            cells[cell_count++] = samples[i];
    }
    free(merged->samples.items);
    merged->samples.items = cells;
    merged->samples.count = cell_count;
    merged->samples.capacity = capacity;
}

void pt_flame_add_many(struct pt_flame *flame)
{
    uint32_t *like[PT_FLAME_DETAILS];
    uint64_t counts[PT_FLAME_DETAILS] = {0};
    for (unsigned detail = 0; detail < PT_FLAME_DETAILS; detail++)
        like[detail] = threads_like(flame, detail);
    move_samples(flame);
    struct pt_sample_order *order = pt_sample_order_new(flame->merged, GIL_STATES, false);
    count_cells(flame, like, order, counts);
    while (flame->detail + 1 < PT_FLAME_DETAILS && counts[flame->detail] > PT_FLAME_MAX_CELLS)
        flame->detail++;
    merge_alike(flame, order, like[flame->detail]);
    pt_sample_order_free(order);
    for (unsigned detail = 0; detail < PT_FLAME_DETAILS; detail++)
        free(like[detail]);
}

/* Returns, by thread of `times`, the thread that represents it in the page. The caller frees. */
static uint32_t *threads_of_page(struct pt_flame *flame, const struct pt_profile *times)
{
    struct pt_profile *side = flame->sides[0];
    uint32_t *threads = pt_alloc(times->threads.count, sizeof *threads);
    for (uint32_t i = 0; i < times->threads.count; i++) {
        struct pt_thread thread = times->threads.items[i];
        const struct pt_process *process = &times->processes.items[thread.process];
        thread.process = pt_add_process(side, pt_intern_text(side, pt_string(times, process->instance)));
        thread.name = pt_intern_text(side, pt_string(times, thread.name));
        threads[i] = pt_add_thread(side, &thread);
    }
    uint32_t *like = threads_like(flame, flame->detail);
    for (uint32_t i = 0; i < times->threads.count; i++)
        threads[i] = like[threads[i]];
    free(like);
    return threads;
}

void pt_flame_add_times(struct pt_flame *flame, struct pt_profile *times)
{
    struct pt_profile *merged = flame->merged;
    uint32_t *threads = threads_of_page(flame, times), *nodes = pt_flame_add_nodes(flame, times);
    pt_flame_choose_buckets(flame, times);
    flame->apart = true;
    for (uint32_t i = 0; i < merged->samples.count; i++)
        merged->samples.items[i].interval = flame->buckets + 1;
    for (uint32_t i = 0; i < times->samples.count; i++) {
        const struct pt_sample *sample = &times->samples.items[i];
        const struct pt_interval *interval = &times->intervals.items[sample->interval];
        struct pt_sample when = {.thread = pt_flame_threads(flame), .node = nodes[sample->node]};
        if (sample->thread == PT_NONE || sample->node) {
            when.count = sample->count;
            when.cpu_ns = sample->cpu_ns;
            pt_flame_add_timed(flame, &when, interval);
        }
        if (sample->thread == PT_NONE)
            continue;
        struct pt_sample busy = {.thread = threads[sample->thread],
                                 .state = state_in(flame->detail, sample->state & GIL_STATES) & PT_MAX_STATES,
                                 .cpu_ns = sample->cpu_ns};
        pt_flame_add_timed(flame, &busy, interval);
    }
    free(threads);
    free(nodes);
}
