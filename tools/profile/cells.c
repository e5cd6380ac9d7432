#include "cells.h"

#include <stdlib.h>
#include <string.h>

#include "../memory.h"

#define FIRST_SLOTS 4096u

static uint32_t hash_of(const struct pp_cell *cell)
{
    uint64_t hash = ((uint64_t)cell->thread << 32 | cell->node) * 0x9e3779b97f4a7c15u;
    hash ^= ((uint64_t)cell->labels << 32 | cell->state) * 0xd6e8feb86659fd93u;
    return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

static bool is_same(const struct pp_cell *a, const struct pp_cell *b)
{
    return a->node == b->node && a->thread == b->thread && a->state == b->state && a->labels == b->labels;
}

static void grow_slots(struct pp_cells *cells)
{
    uint32_t slots = cells->slots ? (cells->mask + 1) * 2 : FIRST_SLOTS;
    free(cells->slots);
    cells->slots = pp_alloc(slots, sizeof *cells->slots);
    cells->mask = slots - 1;
    for (uint32_t i = 0; i < cells->count; i++) {
        uint32_t at = hash_of(&cells->items[i]) & cells->mask;
        while (cells->slots[at])
            at = (at + 1) & cells->mask;
        cells->slots[at] = i + 1;
    }
}

static void put(struct pp_cells *cells, const struct pp_cell *cell, uint32_t hash)
{
    if (cells->count >= cells->mask / 2)
        grow_slots(cells);
    uint32_t at = hash & cells->mask;
    for (; cells->slots[at]; at = (at + 1) & cells->mask) {
        struct pp_cell *known = &cells->items[cells->slots[at] - 1];
        if (is_same(known, cell)) {
            known->count += cell->count;
            known->cpu_ns += cell->cpu_ns;
            return;
        }
    }
    cells->items = pp_grow_raw(cells->items, &cells->capacity, (uint64_t)cells->count + 1, sizeof *cell);
    cells->items[cells->count] = *cell;
    cells->slots[at] = ++cells->count;
}

void pp_cells_add(struct pp_cells *cells, const struct pp_log_sample *sample)
{
    uint32_t last = cells->added % PP_CELLS_WAITING, middle = (last + PP_CELLS_WAITING / 2) % PP_CELLS_WAITING;
    if (!cells->slots)
        grow_slots(cells);
    if (cells->added >= PP_CELLS_WAITING)
        put(cells, &cells->waiting[last], cells->waiting_hashes[last]);
    cells->waiting[last] =
        (struct pp_cell){sample->thread, sample->node, sample->labels, sample->state, sample->count, sample->cpu_ns};
    uint32_t hash = cells->waiting_hashes[last] = hash_of(&cells->waiting[last]);
    __builtin_prefetch(&cells->slots[hash & cells->mask]);
    if (cells->added++ < PP_CELLS_WAITING / 2)
        return;
    uint32_t slot = cells->slots[cells->waiting_hashes[middle] & cells->mask];
    if (slot)
        __builtin_prefetch(&cells->items[slot - 1]);
}

void pp_cells_settle(struct pp_cells *cells)
{
    uint64_t waiting = cells->added < PP_CELLS_WAITING ? cells->added : PP_CELLS_WAITING;
    for (uint64_t i = cells->added - waiting; i < cells->added; i++)
        put(cells, &cells->waiting[i % PP_CELLS_WAITING], cells->waiting_hashes[i % PP_CELLS_WAITING]);
    cells->added = 0;
}

void pp_cells_clear(struct pp_cells *cells)
{
    if (cells->count)
        memset(cells->slots, 0, ((size_t)cells->mask + 1) * sizeof *cells->slots);
    cells->count = 0;
    cells->added = 0;
}

void pp_cells_free(struct pp_cells *cells)
{
    free(cells->items);
    free(cells->slots);
    *cells = (struct pp_cells){0};
}
