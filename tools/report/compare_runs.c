/* SPDX-License-Identifier: Apache-2.0 */
#include "compare_runs.h"

#include <stdlib.h>

#include "../load/runs.h"
#include "../model/frame_text.h"
#include "../view/summary.h"

bool pt_has_runs(const struct pt_side *side)
{
    return side->run_count > 1 && side->profile->keep == PT_KEEP_SAMPLES;
}

/* The call tree, to sum it up for many runs. */
struct tree {
    uint32_t *texts; /* by node: string */
    bool *outermost; /* by node: the function is not further out in the stack */
};

static struct tree tree_of(struct pt_profile *profile, bool lines)
{
    uint32_t nodes = profile->nodes.count;
    PT_AUTO_FREE uint32_t *texts = pt_frame_texts(profile, lines);
    struct tree tree = {pt_alloc(nodes, sizeof *tree.texts), pt_alloc(nodes, sizeof *tree.outermost)};
    for (uint32_t i = 1; i < nodes; i++) {
        uint32_t at = profile->nodes.items[i].parent;
        tree.texts[i] = texts[profile->nodes.items[i].frame];
        while (at && tree.texts[at] != tree.texts[i])
            at = profile->nodes.items[at].parent;
        tree.outermost[i] = !at;
    }
    return tree;
}

/* Adds what each function has in a run. */
static void add_run(struct pt_spread *spread, const struct pt_profile *profile, const struct tree *tree, uint32_t run)
{
    uint32_t nodes = profile->nodes.count, strings = profile->strings.count;
    PT_AUTO_FREE uint64_t *ns = pt_alloc(nodes, sizeof *ns);
    PT_AUTO_FREE uint64_t *self = pt_alloc(strings, sizeof *self), *total = pt_alloc(strings, sizeof *total);
    for (PT_EACH(const struct pt_sample, sample, &profile->samples))
        if (profile->processes.items[profile->threads.items[sample->thread].process].run == run)
            ns[sample->node] += sample->cpu_ns;
    for (uint32_t i = 1; i < nodes; i++)
        self[tree->texts[i]] += ns[i];
    for (uint32_t i = nodes; i-- > 1;) { /* parents have lower numbers */
        total[tree->texts[i]] += tree->outermost[i] ? ns[i] : 0;
        ns[profile->nodes.items[i].parent] += ns[i];
    }
    for (uint32_t i = 0; i < strings; i++) {
        pt_several_add(&spread->self[i], pt_seconds(self[i]));
        pt_several_add(&spread->total[i], pt_seconds(total[i]));
    }
}

struct pt_spread pt_spread_of(const struct pt_side *side, bool lines)
{
    struct pt_spread spread = {0};
    uint32_t count;
    if (!pt_has_runs(side))
        return spread;
    PT_AUTO_FREE struct pt_run *runs = pt_runs_of(side->profile, &count);
    struct tree tree = tree_of(side->profile, lines);
    spread.self = pt_alloc(side->profile->strings.count, sizeof *spread.self);
    spread.total = pt_alloc(side->profile->strings.count, sizeof *spread.total);
    for (uint32_t i = 0; i < count; i++)
        add_run(&spread, side->profile, &tree, runs[i].run);
    free(tree.texts);
    free(tree.outermost);
    return spread;
}

void pt_spread_groups(const struct pt_side *side, int number, const struct pt_group *group, uint32_t none,
                      struct pt_change *sums)
{
    const struct pt_profile *profile = side->profile;
    uint32_t strings = profile->strings.count, count;
    if (!pt_has_runs(side))
        return;
    PT_AUTO_FREE struct pt_run *runs = pt_runs_of(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        PT_AUTO_FREE uint64_t *ns = pt_alloc(strings, sizeof *ns);
        for (PT_EACH(const struct pt_sample, sample, &profile->samples))
            if (profile->processes.items[profile->threads.items[sample->thread].process].run == runs[i].run)
                ns[pt_group_value(group, sample) ?: none] += sample->cpu_ns;
        for (uint32_t j = 0; j < strings; j++)
            pt_several_add(&sums[j].runs[number], pt_seconds(ns[j]));
    }
}
