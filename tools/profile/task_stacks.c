/* SPDX-License-Identifier: Apache-2.0 */
#include "task_stacks.h"

#include <stdlib.h>
#include <string.h>

#define BOUNDARY "[task]"
#define NAMED    "[task "

#define MOST_AWAITERS 16 /* the nearest; a log is not trusted */

bool pt_is_task(const char *text)
{
    return strcmp(text, BOUNDARY) == 0 || strncmp(text, NAMED, sizeof NAMED - 1) == 0;
}

PT_DEFINE_IDENTITY(stacks, struct pt_task_stack, item->node, item->chain)

/* Returns the node of the stack with the frame of a task at its end. */
static uint32_t with_task(struct pt_profile *profile, uint32_t node, uint32_t name)
{
    struct pt_buffer text = {0};
    pt_buffer_format(&text, NAMED "%s]", pt_string(profile, name));
    node = pt_add_node(profile, node, pt_add_pseudo(profile, text.data));
    pt_buffer_free(&text);
    return node;
}

static struct pt_task_chain chain_of(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t number)
{
    stacks->chains = pt_grow(stacks->chains, &stacks->chain_capacity, (uint64_t)number + 1, sizeof *stacks->chains);
    struct pt_task_chain chain = stacks->chains[number];
    const struct pt_label_set *set = &profile->label_sets.items[number];
    uint32_t task = 0, awaiters[MOST_AWAITERS], count = 0;
    if (chain.known)
        return chain;
    chain.known = true;
    for (uint32_t i = set->first; i < set->first + set->count; i++) {
        const struct pt_label label = profile->labels.items[i];
        const char *key = pt_string(profile, label.key);
        if (strcmp(key, "task") == 0)
            task = label.value;
        else if (!stacks->no_awaiters && count < MOST_AWAITERS && strcmp(key, "awaiter") == 0)
            awaiters[count++] = label.value;
    }
    while (count--)
        chain.awaiters = with_task(profile, chain.awaiters, awaiters[count]);
    if (task)
        chain.whole = with_task(profile, chain.awaiters, task);
    return stacks->chains[number] = chain;
}

static uint32_t boundary_of(struct pt_task_stacks *stacks, const struct pt_profile *profile, uint32_t node)
{
    for (uint32_t i = stacks->boundaries.count; i < profile->nodes.count; i++) {
        const struct pt_node *added = &profile->nodes.items[i];
        const struct pt_frame *frame = i ? &profile->frames.items[added->frame] : NULL;
        bool here =
            frame && frame->kind == PP_FRAME_PSEUDO && strcmp(pt_string(profile, frame->subject), BOUNDARY) == 0;
        uint32_t boundary = here ? i : i ? stacks->boundaries.items[added->parent] : 0;
        *PT_APPEND(&stacks->boundaries) = boundary;
    }
    return stacks->boundaries.items[node];
}

/* Returns the node of the stack `onto` with the frames of another one at its end. */
static uint32_t put_onto(struct pt_profile *profile, uint32_t onto, uint32_t frames)
{
    if (!frames)
        return onto;
    const struct pt_node node = profile->nodes.items[frames];
    return pt_add_node(profile, put_onto(profile, onto, node.parent), node.frame);
}

/* Returns the node with the chain between `boundary` and what is outside of it; 0: the chain is put at the root. */
static uint32_t composed(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t node, uint32_t boundary,
                         uint32_t chain)
{
    uint32_t depth = 0, to = PT_NONE;
    for (; to == PT_NONE; node = profile->nodes.items[node].parent) {
        const struct pt_task_stack wanted = {.node = node, .chain = chain};
        uint32_t known =
            pt_index_find(&stacks->stacks.index, stacks_hash(&wanted), stacks_same, stacks->stacks.items, &wanted);
        if (known != PT_NONE) {
            to = stacks->stacks.items[known].to;
            break;
        }
        if (node == boundary)
            to = put_onto(profile, node ? profile->nodes.items[node].parent : 0, chain);
        stacks->path = pt_grow(stacks->path, &stacks->path_capacity, (uint64_t)depth + 1, sizeof *stacks->path);
        stacks->path[depth++] = node;
    }
    while (depth--) {
        struct pt_task_stack made = {.node = stacks->path[depth], .chain = chain};
        if (made.node != boundary)
            to = pt_add_node(profile, to, profile->nodes.items[made.node].frame);
        made.to = to;
        PT_FIND_OR_APPEND(&stacks->stacks, stacks_hash(&made), stacks_same, &made, made);
    }
    return to;
}

uint32_t pt_task_stack(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t node, uint32_t labels)
{
    if (!labels || !node) /* node 0: when a thread was busy */
        return node;
    struct pt_task_chain chain = chain_of(stacks, profile, labels);
    uint32_t boundary = chain.whole || chain.awaiters ? boundary_of(stacks, profile, node) : 0;
    chain.whole = boundary ? chain.whole : chain.awaiters;
    return chain.whole ? composed(stacks, profile, node, boundary, chain.whole) : node;
}

uint32_t pt_stack_below(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t node, uint32_t above)
{
    return composed(stacks, profile, node, 0, above);
}

void pt_task_stacks_free(struct pt_task_stacks *stacks)
{
    free(stacks->chains);
    free(stacks->path);
    PT_FREE_TABLE(&stacks->boundaries);
    PT_FREE_TABLE(&stacks->stacks);
}
