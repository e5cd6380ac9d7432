/* SPDX-License-Identifier: Apache-2.0 */
#include "gil_gc.h"

#include <stdlib.h>
#include <string.h>

#include "../../preload/common/pseudo_frames.h"

const char *pt_gil_text(uint32_t state, const char *unknown)
{
    if (!(state & PP_STATE_GIL_KNOWN))
        return unknown;
    return state & PP_STATE_HOLDS_GIL ? "GIL held" : "GIL not held";
}

void pt_states_add(struct pt_states *sum, uint32_t state, uint64_t cpu_ns)
{
    sum->cpu_ns += cpu_ns;
    if (state & PP_STATE_GIL_KNOWN) {
        sum->gil_known_ns += cpu_ns;
        sum->gil_ns += state & PP_STATE_HOLDS_GIL ? cpu_ns : 0;
    }
    if (state & PP_STATE_GC_KNOWN) {
        sum->gc_known_ns += cpu_ns;
        sum->gc_ns += state & PP_STATE_GC ? cpu_ns : 0;
    }
}

void pt_states_add_all(struct pt_states *sum, const struct pt_states *more)
{
    sum->cpu_ns += more->cpu_ns;
    sum->gil_ns += more->gil_ns;
    sum->gil_known_ns += more->gil_known_ns;
    sum->gc_ns += more->gc_ns;
    sum->gc_known_ns += more->gc_known_ns;
}

struct pt_states *pt_states_by(const struct pt_profile *profile, bool threads)
{
    struct pt_states *sums = pt_alloc(threads ? profile->threads.count : profile->processes.count, sizeof *sums);
    for (uint32_t i = 0; profile->keep == PT_KEEP_STACKS && i < profile->threads.count; i++)
        pt_states_add_all(&sums[threads ? i : profile->threads.items[i].process], &profile->threads.items[i].states);
    for (uint32_t i = 0; profile->keep != PT_KEEP_STACKS && i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        pt_states_add(&sums[threads ? sample->thread : profile->threads.items[sample->thread].process], sample->state,
                      sample->cpu_ns);
    }
    return sums;
}

struct pt_states pt_states_of(const struct pt_profile *profile, uint32_t process)
{
    struct pt_states sum = {0}, *all = pt_states_by(profile, false);
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (process == PT_NONE || process == i)
            pt_states_add_all(&sum, &all[i]);
    free(all);
    return sum;
}

/* Functions of the interpreter that collect, in one version or another (3.8 has a plain "collect"). */
static bool is_collector(const struct pt_profile *profile, const struct pt_frame *frame)
{
    static const char *const names[] = {
        "collect",       "collect_with_callback", "collect_generations",    "PyGC_Collect",
        "_PyGC_Collect", "_PyGC_CollectNoFail",   "_PyGC_CollectIfEnabled", "_Py_RunGC",
    };
    static const char prefix[] = "gc_collect";
    if (frame->kind != PP_FRAME_NATIVE || frame->subject == PT_NONE ||
        !(profile->modules.items[frame->subject].flags & PP_MODULE_PYTHON))
        return false;
    const char *symbol = pt_string(profile, frame->symbol);
    size_t length = strcspn(symbol, "."); /* .constprop.0, .lto_priv.0 */
    if (strncmp(symbol, prefix, sizeof prefix - 1) == 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == length && strncmp(symbol, names[i], length) == 0)
            return true;
    return false;
}

static const struct pt_frame *frame_of(const struct pt_profile *profile, uint32_t node)
{
    return &profile->frames.items[profile->nodes.items[node].frame];
}

/* Returns how many nodes of the path, root first, are callers of the collection: up to the Python frame before the
 * collector, or without one up to the collector, or all. */
static uint32_t nodes_below(const struct pt_profile *profile, const uint32_t *path, uint32_t depth)
{
    uint32_t end = 0;
    while (end < depth && !is_collector(profile, frame_of(profile, path[end])))
        end++;
    for (uint32_t i = end; i-- > 0;)
        if (frame_of(profile, path[i])->kind == PP_FRAME_PYTHON)
            return i + 1;
    return end;
}

/* Returns the node of this stack with the frame `gc` put in. *path is scratch. */
static uint32_t with_frame(struct pt_profile *profile, uint32_t node, uint32_t gc, uint32_t **path, uint32_t *capacity)
{
    uint32_t depth = 0;
    for (uint32_t at = node; at; at = profile->nodes.items[at].parent)
        depth++;
    *path = pt_grow(*path, capacity, (uint64_t)depth + 1, sizeof **path);
    for (uint32_t at = node, i = depth; at; at = profile->nodes.items[at].parent)
        (*path)[--i] = at;
    uint32_t below = nodes_below(profile, *path, depth);
    uint32_t result = pt_add_node(profile, below ? (*path)[below - 1] : 0, gc);
    for (uint32_t i = below; i < depth; i++)
        result = pt_add_node(profile, result, profile->nodes.items[(*path)[i]].frame);
    return result;
}

void pt_states_add_gc_frames(struct pt_profile *profile)
{
    uint32_t known = profile->nodes.count, *path = NULL, capacity = 0, gc = PT_NONE;
    uint32_t *moved = pt_alloc(known, sizeof *moved); /* by node; 0: not yet */
    for (PT_EACH(struct pt_sample, sample, &profile->samples)) {
        if (!pt_in_gc(sample->state))
            continue;
        if (gc == PT_NONE)
            gc = pt_add_pseudo(profile, PP_PSEUDO_GC);
        if (!moved[sample->node])
            moved[sample->node] = with_frame(profile, sample->node, gc, &path, &capacity);
        sample->node = moved[sample->node];
    }
    free(moved);
    free(path);
}
