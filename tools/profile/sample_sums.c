/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_sums.h"

#include <stdlib.h>
#include <string.h>

#include "../base/memory.h"

#define FIRST_SLOTS 64u
#define FREE_SLOTS  4 /* slots for each key, at least: to find one at the first try is worth more than their memory */

static uint32_t hash_of(const struct pt_sums_key *key)
{
    uint64_t hash = ((uint64_t)key->thread << 32 | key->nodes) * 0x9e3779b97f4a7c15u;
    hash ^= ((uint64_t)key->labels << 32 | key->state) * 0xd6e8feb86659fd93u;
    return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

static void grow_slots(struct pt_sample_sums *sums)
{
    uint32_t slots = sums->slots ? (sums->mask + 1) * 2 : FIRST_SLOTS;
    free(sums->slots);
    sums->slots = pt_alloc(slots, sizeof *sums->slots);
    sums->mask = slots - 1;
    for (uint32_t i = 0; i < sums->count; i++) {
        uint32_t at = hash_of(&sums->keys[i]) & sums->mask;
        while (sums->slots[at])
            at = (at + 1) & sums->mask;
        sums->slots[at] = i + 1;
    }
}

/* Returns the number of the key, which may be new. */
static uint32_t number_of(struct pt_sample_sums *sums, const struct pt_sums_key *key)
{
    uint32_t at = hash_of(key) & sums->mask;
    for (; sums->slots[at]; at = (at + 1) & sums->mask)
        if (memcmp(&sums->keys[sums->slots[at] - 1], key, sizeof *key) == 0)
            return sums->slots[at] - 1;
    sums->keys = pt_grow_raw(sums->keys, &sums->capacity, (uint64_t)sums->count + 1, sizeof *sums->keys);
    sums->sums = pt_grow_raw(sums->sums, &sums->sums_capacity, (uint64_t)sums->count + 1, sizeof *sums->sums);
    sums->keys[sums->count] = *key;
    memset(sums->sums[sums->count], 0, sizeof *sums->sums);
    sums->slots[at] = ++sums->count;
    return sums->count - 1;
}

void pt_sample_sums_add(struct pt_sample_sums *sums, const struct pt_sums_by *by, const struct pt_log_sample *samples,
                        uint32_t count)
{
    uint32_t numbers[PT_SAMPLES_TOGETHER];
    while (!sums->slots || sums->count + count > sums->mask / FREE_SLOTS)
        grow_slots(sums);
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_sums_key key = {samples[i].thread & by->thread, (samples[i].node & by->node) / PT_SUMS_TOGETHER,
                                        samples[i].labels & by->labels, samples[i].state & by->state};
        numbers[i] = number_of(sums, &key);
        __builtin_prefetch(&sums->sums[numbers[i]][(samples[i].node & by->node) % PT_SUMS_TOGETHER], 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct pt_sum *sum = &sums->sums[numbers[i]][(samples[i].node & by->node) % PT_SUMS_TOGETHER];
        sum->count += samples[i].count;
        sum->cpu_ns += samples[i].cpu_ns;
    }
}

bool pt_sample_sums_next(const struct pt_sample_sums *sums, uint64_t *at, struct pt_log_sample *sample)
{
    for (; *at / PT_SUMS_TOGETHER < sums->count; ++*at) {
        const struct pt_sums_key *key = &sums->keys[*at / PT_SUMS_TOGETHER];
        uint32_t node = *at % PT_SUMS_TOGETHER;
        const struct pt_sum *sum = &sums->sums[*at / PT_SUMS_TOGETHER][node];
        if (!sum->count && !sum->cpu_ns)
            continue;
        *sample = (struct pt_log_sample){.thread = key->thread,
                                         .node = key->nodes * PT_SUMS_TOGETHER + node,
                                         .labels = key->labels,
                                         .state = key->state,
                                         .count = sum->count,
                                         .cpu_ns = sum->cpu_ns};
        ++*at;
        return true;
    }
    return false;
}

void pt_sample_sums_clear(struct pt_sample_sums *sums)
{
    if (sums->count)
        memset(sums->slots, 0, ((size_t)sums->mask + 1) * sizeof *sums->slots);
    sums->count = 0;
}

void pt_sample_sums_free(struct pt_sample_sums *sums)
{
    free(sums->keys);
    free(sums->sums);
    free(sums->slots);
    *sums = (struct pt_sample_sums){0};
}
