/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_sums.h"

#include <stdlib.h>
#include <string.h>

#include "../base/memory.h"

#define FIRST_SLOTS_BITS 6
#define FREE_SLOTS       4 /* slots for each key, at least: to find one at the first try is worth more than their memory */

static inline struct pt_sums_key key_of(uint32_t thread, uint32_t node, uint32_t labels, uint32_t state)
{
    return (struct pt_sums_key){(uint64_t)node << 32 | thread, (uint64_t)state << 32 | labels};
}

static inline uint32_t slot_mask(const struct pt_sample_sums *sums)
{
    return (1u << sums->slots_bits) - 1;
}

/* Returns the number of the first slot for a key. The highest bits of the products depend on all fields. */
static inline uint32_t first_slot(const struct pt_sums_key *key, unsigned slots_bits)
{
    return (uint32_t)((key->place * 0x9e3779b97f4a7c15u + key->kind * 0xd6e8feb86659fd93u) >> (64 - slots_bits));
}

static void grow_slots(struct pt_sample_sums *sums)
{
    sums->slots_bits = sums->slots ? sums->slots_bits + 1 : FIRST_SLOTS_BITS;
    free(sums->slots);
    sums->slots = pt_alloc((size_t)1 << sums->slots_bits, sizeof *sums->slots);
    for (uint32_t i = 0; i < sums->count; i++) {
        uint32_t at = first_slot(&sums->keys[i], sums->slots_bits);
        while (sums->slots[at])
            at = (at + 1) & slot_mask(sums);
        sums->slots[at] = i + 1;
    }
}

static uint32_t add_key(struct pt_sample_sums *sums, const struct pt_sums_key *key)
{
    sums->keys = pt_grow_raw(sums->keys, &sums->capacity, (uint64_t)sums->count + 1, sizeof *sums->keys);
    sums->sums = pt_grow_raw(sums->sums, &sums->sums_capacity, (uint64_t)sums->count + 1, sizeof *sums->sums);
    sums->keys[sums->count] = *key;
    memset(sums->sums[sums->count], 0, sizeof *sums->sums);
    return ++sums->count;
}

void pt_sample_sums_add(struct pt_sample_sums *sums, const struct pt_sums_by *by, const struct pt_log_sample *samples,
                        uint32_t count)
{
    const struct pt_sums_key mask =
        key_of(by->thread, by->node / PT_SUMS_TOGETHER * PT_SUMS_TOGETHER, by->labels, by->state);
    const uint32_t node_mask = by->node % PT_SUMS_TOGETHER;
    while (!sums->slots || sums->count + count > slot_mask(sums) / FREE_SLOTS)
        grow_slots(sums);
    const unsigned bits = sums->slots_bits;
    const uint32_t *const slots = sums->slots;
    for (const struct pt_log_sample *sample = samples, *end = samples + count; sample < end; sample++) {
        struct pt_sums_key key = key_of(sample->thread, sample->node, sample->labels, sample->state);
        key.place &= mask.place;
        key.kind &= mask.kind;
        uint32_t at = first_slot(&key, bits), number;
        while ((number = slots[at]) &&
               (sums->keys[number - 1].place != key.place || sums->keys[number - 1].kind != key.kind))
            at = (at + 1) & slot_mask(sums);
        if (!number)
            number = sums->slots[at] = add_key(sums, &key);
        struct pt_sum *sum = &sums->sums[number - 1][sample->node & node_mask];
        sum->count += sample->count;
        sum->cpu_ns += sample->cpu_ns;
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
        *sample = (struct pt_log_sample){.thread = (uint32_t)key->place,
                                         .node = (uint32_t)(key->place >> 32) + node,
                                         .labels = (uint32_t)key->kind,
                                         .state = (uint32_t)(key->kind >> 32),
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
        memset(sums->slots, 0, ((size_t)1 << sums->slots_bits) * sizeof *sums->slots);
    sums->count = 0;
}

void pt_sample_sums_free(struct pt_sample_sums *sums)
{
    free(sums->keys);
    free(sums->sums);
    free(sums->slots);
    *sums = (struct pt_sample_sums){0};
}
