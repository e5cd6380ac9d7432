/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the cells of profiles that are too large for a page as they are: CPU by thread is kept apart from CPU by
 * time. */
#include "flame.h"

#include <stdlib.h>

#include "../model/time_bins.h"
#include "../view/sample_order.h"

#define GIL_STATES  ((uint32_t)(PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL))
#define MAX_BUCKETS 400

/* No narrower: a log has an interval for a second mostly, and a sample may weigh CPU of some 50 ms before it. */
#define MIN_BUCKET_NS 1000000000u
/* Intervals that lie over many buckets, of processes that rested, may not make more cells than this. */
#define CELLS_EACH 4

/* Makes buckets of one bin or several, from the run's start on if that is not long before. */
static void choose_buckets_of_bins(struct pt_flame *flame, const struct pt_profile *from, uint64_t start, uint64_t end)
{
    uint64_t width = from->bin_ns, run_start = from->run_start_unix_ns, count;
    for (;; width *= 2) {
        uint64_t first = run_start % width, into = start < first ? 0 : (start - first) % width;
        flame->start_unix_ns = start == run_start ? start : start - into;
        count = (end - flame->start_unix_ns + width - 1) / width;
        if (count <= MAX_BUCKETS)
            break;
    }
    flame->bucket_ns = width;
    flame->buckets = (uint32_t)count;
}

/* Returns how many cells there are at most if buckets are so wide. */
static uint64_t timed_cells(const struct pt_profile *from, uint64_t bucket_ns)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < from->samples.count; i++) {
        const struct pt_interval *interval = &from->intervals.items[from->samples.items[i].interval];
        count += 1 + (pt_interval_has_time(interval) ? interval->wall_ns / bucket_ns : 0);
    }
    return count;
}

/* Divides the run into equal buckets. */
static void divide_run(struct pt_flame *flame, const struct pt_profile *from, uint64_t start, uint64_t end)
{
    uint64_t span = end - start, count = span / MIN_BUCKET_NS;
    count = count > MAX_BUCKETS ? MAX_BUCKETS : count ? count : 1;
    while (count > 1 && timed_cells(from, (span + count - 1) / count) > (uint64_t)from->samples.count * CELLS_EACH)
        count /= 2;
    flame->start_unix_ns = start;
    flame->bucket_ns = (span + count - 1) / count;
    flame->buckets = (uint32_t)count;
}

void pt_flame_choose_buckets(struct pt_flame *flame, const struct pt_profile *from)
{
    uint64_t start = 0, end = 0, run_start = from->run_start_unix_ns;
    for (uint32_t i = 1; i < from->intervals.count; i++) {
        const struct pt_interval *interval = &from->intervals.items[i];
        if (!pt_interval_has_time(interval))
            continue;
        if (!start || interval->start_unix_ns < start)
            start = interval->start_unix_ns;
        if (interval->start_unix_ns + interval->wall_ns > end)
            end = interval->start_unix_ns + interval->wall_ns;
    }
    if (run_start && run_start < start && start - run_start <= end - start)
        start = run_start;
    if (end && from->bin_ns)
        choose_buckets_of_bins(flame, from, start, end);
    else if (end)
        divide_run(flame, from, start, end);
}

static void add_cell(struct pt_flame *flame, const struct pt_sample *like, uint32_t bucket, uint64_t count,
                     uint64_t cpu_ns)
{
    struct pt_sample cell = *like;
    cell.interval = bucket;
    cell.count = count;
    cell.cpu_ns = cpu_ns;
    if (count || cpu_ns)
        pt_add_sample(flame->merged, &cell);
}

void pt_flame_add_timed(struct pt_flame *flame, const struct pt_sample *like, const struct pt_interval *interval)
{
    if (!pt_interval_has_time(interval) || !flame->buckets) {
        add_cell(flame, like, flame->buckets, like->count, like->cpu_ns);
        return;
    }
    uint64_t start = interval->start_unix_ns - flame->start_unix_ns, end = start + interval->wall_ns;
    for (uint64_t bucket = start / flame->bucket_ns; bucket * flame->bucket_ns < end; bucket++) {
        uint64_t from = flame->start_unix_ns + bucket * flame->bucket_ns, to = from + flame->bucket_ns;
        add_cell(flame, like, (uint32_t)bucket, pt_interval_part(interval, like->count, from, to),
                 pt_interval_part(interval, like->cpu_ns, from, to));
    }
}

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
    for (PT_EACH(struct pt_sample, sample, &merged->samples)) {
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
    PT_AUTO_FREE uint32_t *like = threads_like(flame, flame->detail);
    for (uint32_t i = 0; i < times->threads.count; i++)
        threads[i] = like[threads[i]];
    return threads;
}

void pt_flame_add_times(struct pt_flame *flame, struct pt_profile *times)
{
    struct pt_profile *merged = flame->merged;
    PT_AUTO_FREE uint32_t *threads = threads_of_page(flame, times), *nodes = pt_flame_add_nodes(flame, times);
    pt_flame_choose_buckets(flame, times);
    flame->apart = true;
    for (uint32_t i = 0; i < merged->samples.count; i++)
        merged->samples.items[i].interval = flame->buckets + 1;
    for (PT_EACH(const struct pt_sample, sample, &times->samples)) {
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
}
