#include "sample_order.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 8
#define DIGITS     (1u << DIGIT_BITS)
#define FEW        32u /* are faster sorted without counting */
#define LABEL_BITS 24
#define STATE_BITS 8
#define AHEAD      16u /* samples, not in the order of memory, that are fetched before their turn */

struct entry {
    uint64_t key; /* thread, labels, state */
    uint64_t count, cpu_ns;
};

struct pt_sample_order {
    const struct pt_profile *profile;
    uint32_t states;
    uint32_t *numbers, *ends; /* of samples, by node; where those of each node end */
    /* of one node */
    struct entry *entries, *scratch;
    struct pt_sample *samples;
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

struct pt_sample_order *pt_sample_order_new(const struct pt_profile *profile, uint32_t states)
{
    struct pt_sample_order *order = pt_alloc(1, sizeof *order);
    const struct pt_sample *samples = profile->samples.items;
    uint32_t count = profile->samples.count, nodes = profile->nodes.count, sum = 0, most = 0;
    order->profile = profile;
    order->states = states;
    order->numbers = pt_alloc(count, sizeof *order->numbers);
    order->ends = pt_alloc(nodes, sizeof *order->ends);
    for (uint32_t i = 0; i < count; i++)
        order->ends[samples[i].node]++;
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t own = order->ends[i];
        most = own > most ? own : most;
        order->ends[i] = sum;
        sum += own;
    }
    for (uint32_t i = 0; i < count; i++)
        order->numbers[order->ends[samples[i].node]++] = i;
    order->entries = pt_alloc(most, sizeof *order->entries);
    order->scratch = pt_alloc(most, sizeof *order->scratch);
    order->samples = pt_alloc(most, sizeof *order->samples);
    return order;
}

void pt_sample_order_free(struct pt_sample_order *order)
{
    free(order->numbers);
    free(order->ends);
    free(order->entries);
    free(order->scratch);
    free(order->samples);
    free(order);
}

uint32_t pt_samples_of_node(struct pt_sample_order *order, uint32_t node, const struct pt_sample **samples)
{
    const struct pt_sample *all = order->profile->samples.items;
    uint32_t start = node ? order->ends[node - 1] : 0, count = order->ends[node] - start, kept = 0;
    const uint32_t *numbers = order->numbers + start;
    uint32_t last = order->profile->samples.count - start;
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_sample *sample = &all[numbers[i]];
        if (i + AHEAD < last) /* the next node's too */
            __builtin_prefetch(&all[numbers[i + AHEAD]]);
        order->entries[i].key = (uint64_t)sample->thread << (LABEL_BITS + STATE_BITS) |
                                (uint64_t)sample->labels << STATE_BITS | (sample->state & order->states);
        order->entries[i].count = sample->count;
        order->entries[i].cpu_ns = sample->cpu_ns;
    }
    const struct entry *sorted = sort_entries(order->entries, order->scratch, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!kept || sorted[i].key != sorted[i - 1].key)
            order->samples[kept++] = (struct pt_sample){
                .thread = (uint32_t)(sorted[i].key >> (LABEL_BITS + STATE_BITS)),
                .node = node,
                .labels = sorted[i].key >> STATE_BITS & PT_MOST_LABEL_SETS,
                .state = sorted[i].key & PT_MOST_STATES,
            };
        order->samples[kept - 1].count += sorted[i].count;
        order->samples[kept - 1].cpu_ns += sorted[i].cpu_ns;
    }
    *samples = order->samples;
    return kept;
}
