/* Profiles that a page cannot hold as they are: who burned is kept apart from when. */
#include <stdlib.h>

#include "../export/sample_order.h"
#include "cells.h"

#define GIL_STATES ((uint32_t)(PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL))

/* By thread: the one that stands for it. The caller frees. */
static uint32_t *threads_like(const struct pp_flame *flame, enum pp_flame_detail detail)
{
    uint32_t count = pp_flame_threads(flame), base = 0, *like = pp_alloc(count, sizeof *like);
    struct pp_profile *seen = pp_profile_new(); /* nodes there are what makes threads alike */
    uint32_t *first = NULL, capacity = 0;
    for (unsigned side = 0; side < flame->side_count; side++) {
        const struct pp_profile *from = flame->sides[side];
        for (uint32_t i = 0; i < from->threads.count; i++) {
            const struct pp_thread *thread = &from->threads.items[i];
            uint32_t key = pp_add_node(seen, 0, side);
            if (detail <= PP_FLAME_PROCESSES)
                key = pp_add_node(seen, key, thread->process);
            if (detail <= PP_FLAME_NAMES)
                key = pp_add_node(seen, key, thread->name);
            if (detail <= PP_FLAME_THREADS)
                key = pp_add_node(seen, key, i);
            first = pp_grow(first, &capacity, (uint64_t)key + 1, sizeof *first);
            if (!first[key])
                first[key] = base + i + 1;
            like[base + i] = first[key] - 1;
        }
        base += from->threads.count;
    }
    free(first);
    pp_profile_free(seen);
    return like;
}

/* All samples of the sides, with the numbers of the tree. */
static void move_samples(struct pp_flame *flame)
{
    struct pp_profile *merged = flame->merged;
    uint32_t base = 0;
    for (unsigned side = 0; side < flame->side_count; side++) {
        uint32_t count, *nodes = pp_flame_add_nodes(flame, flame->sides[side]);
        struct pp_sample *samples = pp_take_samples(flame->sides[side], &count);
        for (uint32_t i = 0; i < count; i++) {
            struct pp_sample *sample = &samples[i];
            *sample = (struct pp_sample){.thread = base + sample->thread,
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
                pp_append_sample(merged, &samples[i]);
            free(samples);
        }
        base += flame->sides[side]->threads.count;
        free(nodes);
    }
}

static uint32_t state_in(enum pp_flame_detail detail, uint32_t state)
{
    return detail == PP_FLAME_ALL ? state : 0;
}

/* How many cells there would be with each detail. */
static void count_cells(const struct pp_flame *flame, uint32_t *const like[], struct pp_sample_order *order,
                        uint64_t counts[])
{
    uint32_t *seen_at[PP_FLAME_DETAILS]; /* by thread and state: the last node */
    for (unsigned detail = 0; detail < PP_FLAME_DETAILS; detail++)
        seen_at[detail] = pp_alloc((size_t)pp_flame_threads(flame) * (GIL_STATES + 1), sizeof *seen_at[0]);
    for (uint32_t node = 1; node < flame->merged->nodes.count; node++) {
        const struct pp_sample *samples;
        uint32_t count = pp_samples_of_node(order, node, &samples);
        for (uint32_t i = 0; i < count; i++)
            for (unsigned detail = 0; detail < PP_FLAME_DETAILS; detail++) {
                uint32_t *seen = &seen_at[detail][(size_t)like[detail][samples[i].thread] * (GIL_STATES + 1) +
                                                  state_in(detail, samples[i].state)];
                counts[detail] += *seen != node;
                *seen = node;
            }
    }
    for (unsigned detail = 0; detail < PP_FLAME_DETAILS; detail++)
        free(seen_at[detail]);
}

/* Samples become cells: the same thread, or what stands for it, in the same node and state is one. */
static void merge_alike(struct pp_flame *flame, struct pp_sample_order *order, const uint32_t *like)
{
    struct pp_profile *merged = flame->merged;
    struct pp_sample *cells = NULL;
    uint32_t cell_count = 0, capacity = 0;
    for (uint32_t i = 0; i < merged->samples.count; i++) {
        struct pp_sample *sample = &merged->samples.items[i];
        sample->thread = like[sample->thread];
        sample->state = state_in(flame->detail, sample->state) & PP_MOST_STATES;
    }
    for (uint32_t node = 1; node < merged->nodes.count; node++) {
        const struct pp_sample *samples;
        uint32_t count = pp_samples_of_node(order, node, &samples);
        cells = pp_grow_raw(cells, &capacity, (uint64_t)cell_count + count, sizeof *cells);
        for (uint32_t i = 0; i < count; i++)
            cells[cell_count++] = samples[i];
    }
    free(merged->samples.items);
    merged->samples.items = cells;
    merged->samples.count = cell_count;
    merged->samples.capacity = capacity;
}

void pp_flame_add_many(struct pp_flame *flame)
{
    uint32_t *like[PP_FLAME_DETAILS];
    uint64_t counts[PP_FLAME_DETAILS] = {0};
    for (unsigned detail = 0; detail < PP_FLAME_DETAILS; detail++)
        like[detail] = threads_like(flame, detail);
    move_samples(flame);
    struct pp_sample_order *order = pp_sample_order_new(flame->merged, GIL_STATES);
    count_cells(flame, like, order, counts);
    while (flame->detail + 1 < PP_FLAME_DETAILS && counts[flame->detail] > PP_FLAME_MOST_CELLS)
        flame->detail++;
    merge_alike(flame, order, like[flame->detail]);
    pp_sample_order_free(order);
    for (unsigned detail = 0; detail < PP_FLAME_DETAILS; detail++)
        free(like[detail]);
}

/* By thread of `times`: the thread that stands for it in the page. The caller frees. */
static uint32_t *threads_of_page(struct pp_flame *flame, const struct pp_profile *times)
{
    struct pp_profile *side = flame->sides[0];
    uint32_t *threads = pp_alloc(times->threads.count, sizeof *threads);
    for (uint32_t i = 0; i < times->threads.count; i++) {
        struct pp_thread thread = times->threads.items[i];
        const struct pp_process *process = &times->processes.items[thread.process];
        thread.process = pp_add_process(side, pp_intern_text(side, pp_string(times, process->instance)));
        thread.name = pp_intern_text(side, pp_string(times, thread.name));
        threads[i] = pp_add_thread(side, &thread);
    }
    uint32_t *like = threads_like(flame, flame->detail);
    for (uint32_t i = 0; i < times->threads.count; i++)
        threads[i] = like[threads[i]];
    free(like);
    return threads;
}

void pp_flame_add_times(struct pp_flame *flame, const struct pp_profile *times)
{
    struct pp_profile *merged = flame->merged;
    uint32_t *threads = threads_of_page(flame, times), *nodes = pp_flame_add_nodes(flame, times);
    pp_flame_choose_buckets(flame, times);
    flame->apart = true;
    for (uint32_t i = 0; i < merged->samples.count; i++)
        merged->samples.items[i].interval = flame->buckets + 1;
    for (uint32_t i = 0; i < times->samples.count; i++) {
        const struct pp_sample *sample = &times->samples.items[i];
        const struct pp_interval *interval = &times->intervals.items[sample->interval];
        struct pp_sample when = {.thread = pp_flame_threads(flame), .node = nodes[sample->node]};
        if (sample->thread == PP_NONE || sample->node) {
            when.count = sample->count;
            when.cpu_ns = sample->cpu_ns;
            pp_flame_add_timed(flame, &when, interval);
        }
        if (sample->thread == PP_NONE)
            continue;
        struct pp_sample busy = {.thread = threads[sample->thread],
                                 .state = state_in(flame->detail, sample->state & GIL_STATES) & PP_MOST_STATES,
                                 .cpu_ns = sample->cpu_ns};
        pp_flame_add_timed(flame, &busy, interval);
    }
    free(threads);
    free(nodes);
}
