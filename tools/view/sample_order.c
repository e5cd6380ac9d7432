/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_order.h"

#include <stdlib.h>

#include "../base/numbers.h"

#define AHEAD 16u /* samples, not in the order of memory, that are fetched before their turn */

struct pt_sample_order {
    const struct pt_profile *profile;
    uint32_t states;
    bool timed;
    uint32_t *numbers, *ends;  /* of samples, by node; where those of each node end */
    struct pt_sample *samples; /* of one node */
};

uint32_t pt_merge_equal(struct pt_sample *samples, uint32_t count, int (*compare)(const void *a, const void *b))
{
    uint32_t kept = 0;
    if (count)
        qsort(samples, count, sizeof *samples, compare);
    for (uint32_t i = 0; i < count; i++) {
        if (kept && compare(&samples[kept - 1], &samples[i]) == 0) {
            samples[kept - 1].count += samples[i].count;
            samples[kept - 1].cpu_ns += samples[i].cpu_ns;
        } else {
            samples[kept++] = samples[i];
        }
    }
    return kept;
}

PT_DEFINE_ORDER(by_identity, struct pt_sample,
                pt_compare(x->thread, y->thread) ?: pt_compare(x->labels, y->labels) ?: pt_compare(x->state, y->state))

PT_DEFINE_ORDER(by_identity_and_time, struct pt_sample, by_identity(x, y) ?: pt_compare(x->interval, y->interval))

struct pt_sample_order *pt_sample_order_new(const struct pt_profile *profile, uint32_t states, bool timed)
{
    struct pt_sample_order *order = pt_alloc(1, sizeof *order);
    uint32_t nodes = profile->nodes.count, most = 0;
    order->profile = profile;
    order->states = states;
    order->timed = timed;
    order->numbers = PT_GROUP(&profile->samples, node, nodes, &order->ends);
    for (uint32_t i = 0, start = 0; i < nodes; start = order->ends[i++])
        most = order->ends[i] - start > most ? order->ends[i] - start : most;
    order->samples = pt_alloc(most, sizeof *order->samples);
    return order;
}

void pt_sample_order_free(struct pt_sample_order *order)
{
    free(order->numbers);
    free(order->ends);
    free(order->samples);
    free(order);
}

uint32_t pt_samples_of_node(struct pt_sample_order *order, uint32_t node, const struct pt_sample **samples)
{
    const struct pt_sample *all = order->profile->samples.items;
    uint32_t start = node ? order->ends[node - 1] : 0, count = order->ends[node] - start;
    const uint32_t *numbers = order->numbers + start;
    uint32_t last = order->profile->samples.count - start;
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_sample *sample = &all[numbers[i]];
        if (i + AHEAD < last) /* the next node's too */
            __builtin_prefetch(&all[numbers[i + AHEAD]]);
        order->samples[i] = *sample;
        order->samples[i].state &= order->states & PT_MAX_STATES;
        order->samples[i].interval = order->timed ? sample->interval : 0;
    }
    *samples = order->samples;
    return pt_merge_equal(order->samples, count, order->timed ? by_identity_and_time : by_identity);
}
