/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"

#include <stdlib.h>

#include "buckets.h"
#include "many.h"
#include "nodes.h"

/* Adds a profile's label sets to the page's, and maps them. The caller frees. */
static uint32_t *add_label_sets(struct pt_flame *flame, const struct pt_profile *from)
{
    uint32_t *sets = pt_alloc(from->label_sets.count, sizeof *sets), capacity = 0;
    struct pt_label *labels = NULL;
    for (uint32_t i = 1; i < from->label_sets.count; i++) {
        const struct pt_label_set *set = &from->label_sets.items[i];
        labels = pt_grow(labels, &capacity, set->count, sizeof *labels);
        for (uint32_t j = 0; j < set->count; j++) {
            const struct pt_label *label = &from->labels.items[set->first + j];
            labels[j] = (struct pt_label){pt_intern_text(flame->merged, pt_string(from, label->key)),
                                          pt_intern_text(flame->merged, pt_string(from, label->value))};
        }
        sets[i] = pt_add_label_set(flame->merged, labels, set->count);
    }
    free(labels);
    return sets;
}

static void add_samples(struct pt_flame *flame, const struct pt_profile *from, const uint32_t *nodes,
                        uint32_t thread_base)
{
    uint32_t *label_sets = add_label_sets(flame, from);
    for (uint32_t i = 0; i < from->samples.count; i++) {
        const struct pt_sample *sample = &from->samples.items[i];
        struct pt_sample like = {
            .thread = thread_base + sample->thread,
            .node = nodes[sample->node],
            .labels = label_sets[sample->labels] & PT_MAX_LABEL_SETS,
            .state = sample->state & (PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL),
            .count = sample->count,
            .cpu_ns = sample->cpu_ns,
        };
        pt_flame_add_timed(flame, &like, &from->intervals.items[sample->interval]);
    }
    free(label_sets);
}

void pt_flame_add_cells(struct pt_flame *flame)
{
    uint64_t count = 0;
    uint32_t thread_base = 0;
    for (unsigned i = 0; i < flame->side_count; i++)
        count += flame->sides[i]->samples.count;
    /* Two runs have no time in common. */
    if (flame->side_count == 1)
        pt_flame_choose_buckets(flame, flame->sides[0]);
    if (!flame->buckets && count > PT_FLAME_MAX_CELLS) {
        pt_flame_add_many(flame);
        return;
    }
    for (unsigned i = 0; i < flame->side_count; i++) {
        uint32_t *nodes = pt_flame_add_nodes(flame, flame->sides[i]);
        add_samples(flame, flame->sides[i], nodes, thread_base);
        thread_base += flame->sides[i]->threads.count;
        free(nodes);
    }
}
