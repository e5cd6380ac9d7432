/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_sums.h"

#include <stdlib.h>
#include <string.h>

#include "../base/memory.h"

#define FIRST_SLOTS 4096u
/* Nodes whose slots are neighbours, for the same thread, labels and state: what is hot was seen early and has ids that
 * are close together, so the hot part of the slots stays in the cache. */
#define NEIGHBOURS 256u

/* Slots for each sum, at least: to find one at the first try is worth more than their memory. */
#define FREE_SLOTS 4

static uint32_t hash_of(const struct pt_log_sample *sample)
{
    uint64_t hash = ((uint64_t)sample->thread << 32 | sample->node / NEIGHBOURS) * 0x9e3779b97f4a7c15u;
    hash ^= ((uint64_t)sample->labels << 32 | sample->state) * 0xd6e8feb86659fd93u;
    return ((uint32_t)(hash >> 32) ^ (uint32_t)hash) ^ sample->node % NEIGHBOURS;
}

/* Returns the distance to the next slot to try. It is not 1: runs of neighbours that meet would all have to go to the
 * end of both. */
static uint32_t step_of(uint32_t hash)
{
    return (hash / NEIGHBOURS * 0x9e3779b1u) >> 8 | 1;
}

static bool is_same(const struct pt_log_sample *a, const struct pt_log_sample *b)
{
    return a->node == b->node && a->thread == b->thread && a->state == b->state && a->labels == b->labels;
}

static void grow_slots(struct pt_sample_sums *sums)
{
    uint32_t slots = sums->slots ? (sums->mask + 1) * 2 : FIRST_SLOTS;
    free(sums->slots);
    sums->slots = pt_alloc(slots, sizeof *sums->slots);
    sums->mask = slots - 1;
    for (uint32_t i = 0; i < sums->count; i++) {
        uint32_t hash = hash_of(&sums->items[i]), at = hash & sums->mask;
        while (sums->slots[at])
            at = (at + step_of(hash)) & sums->mask;
        sums->slots[at] = i + 1;
    }
}

static void put(struct pt_sample_sums *sums, const struct pt_log_sample *sample, uint32_t hash)
{
    uint32_t at = hash & sums->mask;
    for (; sums->slots[at]; at = (at + step_of(hash)) & sums->mask) {
        struct pt_log_sample *known = &sums->items[sums->slots[at] - 1];
        if (is_same(known, sample)) {
            known->count += sample->count;
            known->cpu_ns += sample->cpu_ns;
            return;
        }
    }
    sums->items = pt_grow_raw(sums->items, &sums->capacity, (uint64_t)sums->count + 1, sizeof *sample);
    sums->items[sums->count] = *sample;
    sums->slots[at] = ++sums->count;
}

void pt_sample_sums_add(struct pt_sample_sums *sums, const struct pt_log_sample *samples, uint32_t count)
{
    uint32_t hashes[PT_SAMPLES_TOGETHER];
    while (!sums->slots || sums->count + count > sums->mask / FREE_SLOTS)
        grow_slots(sums);
    for (uint32_t i = 0; i < count; i++) {
        hashes[i] = hash_of(&samples[i]);
        __builtin_prefetch(&sums->slots[hashes[i] & sums->mask]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = sums->slots[hashes[i] & sums->mask];
        if (slot)
            __builtin_prefetch(&sums->items[slot - 1], 1);
    }
    for (uint32_t i = 0; i < count; i++)
        put(sums, &samples[i], hashes[i]);
}

void pt_sample_sums_clear(struct pt_sample_sums *sums)
{
    if (sums->count)
        memset(sums->slots, 0, ((size_t)sums->mask + 1) * sizeof *sums->slots);
    sums->count = 0;
}

void pt_sample_sums_free(struct pt_sample_sums *sums)
{
    free(sums->items);
    free(sums->slots);
    *sums = (struct pt_sample_sums){0};
}
