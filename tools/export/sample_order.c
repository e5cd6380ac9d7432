#include "sample_order.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 8
#define DIGITS     (1u << DIGIT_BITS)
#define FEW        32u /* are faster sorted without counting */
#define LABEL_BITS 24
#define STATE_BITS 8

struct entry {
    uint64_t key; /* node, labels, state */
    uint32_t sample;
};

static void sort_few(struct entry *entries, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct entry entry = entries[i];
        uint32_t at = i;
        for (; at && entries[at - 1].key > entry.key; at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

static void sort_by_digit(const struct entry *from, struct entry *to, uint32_t count, unsigned shift)
{
    uint32_t starts[DIGITS] = {0}, sum = 0;
    for (uint32_t i = 0; i < count; i++)
        starts[from[i].key >> shift & (DIGITS - 1)]++;
    for (uint32_t i = 0; i < DIGITS; i++) {
        uint32_t start = sum;
        sum += starts[i];
        starts[i] = start;
    }
    for (uint32_t i = 0; i < count; i++)
        to[starts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/* Digit after digit from the lowest, without those that all keys have in common. Returns where the result is. */
static struct entry *sort_entries(struct entry *entries, struct entry *scratch, uint32_t count)
{
    uint64_t differing = 0;
    if (count <= FEW) {
        sort_few(entries, count);
        return entries;
    }
    for (uint32_t i = 1; i < count; i++)
        differing |= entries[i].key ^ entries[0].key;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if (!(differing >> shift & (DIGITS - 1)))
            continue;
        sort_by_digit(entries, scratch, count, shift);
        struct entry *sorted = scratch;
        scratch = entries;
        entries = sorted;
    }
    return entries;
}

/* starts[i]: where those of thread i begin, of threads.count + 1. */
static uint32_t *by_thread(const struct pp_profile *profile, uint32_t *starts)
{
    const struct pp_sample *samples = profile->samples.items;
    uint32_t count = profile->samples.count, threads = profile->threads.count;
    uint32_t *order = pp_alloc(count, sizeof *order), *next = pp_alloc(threads, sizeof *next);
    for (uint32_t i = 0; i < count; i++)
        starts[samples[i].thread + 1]++;
    for (uint32_t i = 0; i < threads; i++) {
        next[i] = starts[i];
        starts[i + 1] += starts[i];
    }
    for (uint32_t i = 0; i < count; i++)
        order[next[samples[i].thread]++] = i;
    free(next);
    return order;
}

uint32_t *pp_samples_in_order(const struct pp_profile *profile, uint32_t states)
{
    uint32_t *starts = pp_alloc((size_t)profile->threads.count + 1, sizeof *starts), most = 0;
    uint32_t *order = by_thread(profile, starts);
    for (uint32_t i = 0; i < profile->threads.count; i++)
        if (starts[i + 1] - starts[i] > most)
            most = starts[i + 1] - starts[i];
    struct entry *entries = pp_alloc(most, sizeof *entries), *scratch = pp_alloc(most, sizeof *scratch);
    for (uint32_t thread = 0; thread < profile->threads.count; thread++) {
        uint32_t *numbers = &order[starts[thread]], count = starts[thread + 1] - starts[thread];
        for (uint32_t i = 0; i < count; i++) {
            const struct pp_sample *sample = &profile->samples.items[numbers[i]];
            entries[i].key = (uint64_t)sample->node << (LABEL_BITS + STATE_BITS) |
                             (uint64_t)sample->labels << STATE_BITS | (sample->state & states);
            entries[i].sample = numbers[i];
        }
        const struct entry *sorted = sort_entries(entries, scratch, count);
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = sorted[i].sample;
    }
    free(entries);
    free(scratch);
    free(starts);
    return order;
}
