#include "sample_sums.h"

#include <stdlib.h>
#include <string.h>

#include "../base/memory.h"

#define FIRST_SLOTS 4096u
/* Nodes whose slots are neighbours, for the same thread, labels and state: what is hot was seen early and has ids that
 * are close together, so the hot part of the slots stays in the cache. */
#define NEIGHBOURS 256u

/* Slots for each cell, at least: to find one at the first try is worth more than their memory. */
#define FREE_SLOTS 4

static uint32_t hash_of(const struct pt_log_sample *cell)
{
    uint64_t hash = ((uint64_t)cell->thread << 32 | cell->node / NEIGHBOURS) * 0x9e3779b97f4a7c15u;
    hash ^= ((uint64_t)cell->labels << 32 | cell->state) * 0xd6e8feb86659fd93u;
    return ((uint32_t)(hash >> 32) ^ (uint32_t)hash) ^ cell->node % NEIGHBOURS;
}

/* From one slot to the next to try. Not to the neighbour: runs of neighbours that meet would all have to go to the end
 * of both. */
static uint32_t step_of(uint32_t hash)
{
    return (hash / NEIGHBOURS * 0x9e3779b1u) >> 8 | 1;
}

static bool is_same(const struct pt_log_sample *a, const struct pt_log_sample *b)
{
    return a->node == b->node && a->thread == b->thread && a->state == b->state && a->labels == b->labels;
}

static void grow_slots(struct pt_sample_sums *cells)
{
    uint32_t slots = cells->slots ? (cells->mask + 1) * 2 : FIRST_SLOTS;
    free(cells->slots);
    cells->slots = pt_alloc(slots, sizeof *cells->slots);
    cells->mask = slots - 1;
    for (uint32_t i = 0; i < cells->count; i++) {
        uint32_t hash = hash_of(&cells->items[i]), at = hash & cells->mask;
        while (cells->slots[at])
            at = (at + step_of(hash)) & cells->mask;
        cells->slots[at] = i + 1;
    }
}

static void put(struct pt_sample_sums *cells, const struct pt_log_sample *cell, uint32_t hash)
{
    uint32_t at = hash & cells->mask;
    for (; cells->slots[at]; at = (at + step_of(hash)) & cells->mask) {
        struct pt_log_sample *known = &cells->items[cells->slots[at] - 1];
        if (is_same(known, cell)) {
            known->count += cell->count;
            known->cpu_ns += cell->cpu_ns;
            return;
        }
    }
    cells->items = pt_grow_raw(cells->items, &cells->capacity, (uint64_t)cells->count + 1, sizeof *cell);
    cells->items[cells->count] = *cell;
    cells->slots[at] = ++cells->count;
}

static void add_some(struct pt_sample_sums *cells, const struct pt_log_sample *samples, uint32_t count)
{
    uint32_t hashes[PT_SUMS_TOGETHER];
    while (!cells->slots || cells->count + count > cells->mask / FREE_SLOTS)
        grow_slots(cells);
    for (uint32_t i = 0; i < count; i++) {
        hashes[i] = hash_of(&samples[i]);
        __builtin_prefetch(&cells->slots[hashes[i] & cells->mask]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = cells->slots[hashes[i] & cells->mask];
        if (slot)
            __builtin_prefetch(&cells->items[slot - 1], 1);
    }
    for (uint32_t i = 0; i < count; i++)
        put(cells, &samples[i], hashes[i]);
}

void pt_sample_sums_add(struct pt_sample_sums *cells, const struct pt_log_sample *samples, uint32_t count)
{
    for (; count > PT_SUMS_TOGETHER; samples += PT_SUMS_TOGETHER, count -= PT_SUMS_TOGETHER)
        add_some(cells, samples, PT_SUMS_TOGETHER);
    if (count)
        add_some(cells, samples, count);
}

void pt_sample_sums_clear(struct pt_sample_sums *cells)
{
    if (cells->count)
        memset(cells->slots, 0, ((size_t)cells->mask + 1) * sizeof *cells->slots);
    cells->count = 0;
}

void pt_sample_sums_free(struct pt_sample_sums *cells)
{
    free(cells->items);
    free(cells->slots);
    *cells = (struct pt_sample_sums){0};
}
