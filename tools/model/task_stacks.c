/* SPDX-License-Identifier: Apache-2.0 */
#include "task_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "../../preload/common/label_kinds.h"
#include "../../preload/common/pseudo_frames.h"

#define MAX_AWAITERS 16 /* the nearest; a log is not trusted */

bool pt_is_task(const char *text)
{
    return strcmp(text, PP_PSEUDO_TASK) == 0 ||
           strncmp(text, PP_PSEUDO_TASK_NAMED, sizeof PP_PSEUDO_TASK_NAMED - 1) == 0;
}

PT_DEFINE_IDENTITY(stacks, struct pt_task_stack, item->node, item->chain)

/* Returns the node of the stack with the frame of a task at its end. */
static uint32_t with_task(struct pt_profile *profile, uint32_t node, uint32_t name)
{
    PT_AUTO_BUFFER text = pt_formatted(PP_PSEUDO_TASK_NAMED "%s]", pt_string(profile, name));
    node = pt_add_node(profile, node, pt_add_pseudo(profile, text.data));
    return node;
}

static struct pt_task_chain chain_of(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t number)
{
    stacks->chains = pt_grow(stacks->chains, &stacks->chain_capacity, (uint64_t)number + 1, sizeof *stacks->chains);
    struct pt_task_chain chain = stacks->chains[number];
    const struct pt_label_set *set = &profile->label_sets.items[number];
    uint32_t task = 0, awaiters[MAX_AWAITERS], count = 0;
    if (chain.known)
        return chain;
    chain.known = true;
    for (uint32_t i = set->first; i < set->first + set->count; i++) {
        const struct pt_label label = profile->labels.items[i];
        const char *key = pt_string(profile, label.key);
        if (strcmp(key, PP_KEY_TASK) == 0)
            task = label.value;
        else if (!stacks->no_awaiters && count < MAX_AWAITERS && strcmp(key, PP_KEY_AWAITER) == 0)
            awaiters[count++] = label.value;
    }
    while (count--)
        chain.awaiters = with_task(profile, chain.awaiters, awaiters[count]);
    if (task)
        chain.whole = with_task(profile, chain.awaiters, task);
    return stacks->chains[number] = chain;
}

static struct pt_task_marks marks_after(const struct pt_profile *profile, uint32_t number, struct pt_task_marks marks)
{
    const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[number].frame];
    const char *text = frame->kind == PP_FRAME_PSEUDO ? pt_string(profile, frame->subject) : "";
    marks.mark = strcmp(text, PP_PSEUDO_AWAITER) == 0   ? PT_MARK_AWAITER
                 : strcmp(text, PP_PSEUDO_AWAITED) == 0 ? PT_MARK_AWAITED
                 : strcmp(text, PP_PSEUDO_TASK) == 0    ? PT_MARK_TASK
                                                        : PT_MARK_NONE;
    if (marks.mark == PT_MARK_AWAITER && !marks.awaiters++)
        marks.begin = number;
    else if (marks.mark == PT_MARK_TASK && !marks.awaiters)
        marks.begin = number;
    marks.has_task |= marks.mark == PT_MARK_TASK;
    marks.of_awaiter = marks.mark == PT_MARK_AWAITER || (marks.of_awaiter && marks.mark == PT_MARK_NONE);
    return marks;
}

static struct pt_task_marks marks_of(struct pt_task_stacks *stacks, const struct pt_profile *profile, uint32_t node)
{
    for (uint32_t i = stacks->marks.count; i < profile->nodes.count; i++) {
        struct pt_task_marks marks = {0};
        if (i)
            marks = marks_after(profile, i, stacks->marks.items[profile->nodes.items[i].parent]);
        *PT_APPEND(&stacks->marks) = marks;
    }
    return stacks->marks.items[node];
}

/* Returns the node of the stack `onto` with the frames of another one at its end. */
static uint32_t put_onto(struct pt_profile *profile, uint32_t onto, uint32_t frames)
{
    if (!frames)
        return onto;
    const struct pt_node node = profile->nodes.items[frames];
    return pt_add_node(profile, put_onto(profile, onto, node.parent), node.frame);
}

/* Returns the frame of the nth node of the chain, from 1 on; PT_NONE: it is shorter. */
static uint32_t chain_frame(const struct pt_profile *profile, uint32_t chain, uint32_t n)
{
    uint32_t depth = 0;
    for (uint32_t node = chain; node; node = profile->nodes.items[node].parent)
        depth++;
    for (; depth > n; depth--)
        chain = profile->nodes.items[chain].parent;
    return depth == n && n ? profile->nodes.items[chain].frame : PT_NONE;
}

/* Returns the node of the stack `to` with the frame of a node at its end, or with what the chain has for it. */
static uint32_t renamed(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t to, uint32_t node,
                        uint32_t chain)
{
    const struct pt_task_marks marks = marks_of(stacks, profile, node);
    uint32_t frame = profile->nodes.items[node].frame;
    if (stacks->no_awaiters && (marks.of_awaiter || marks.mark == PT_MARK_AWAITED))
        return to;
    if (marks.mark == PT_MARK_AWAITER)
        frame = chain_frame(profile, chain, marks.awaiters);
    if (marks.mark == PT_MARK_TASK)
        frame = chain ? profile->nodes.items[chain].frame : frame;
    return frame == PT_NONE ? to : pt_add_node(profile, to, frame);
}

/* Returns the node with the chain between `boundary` and what is outside of it; 0: the chain is put at the root.
 * marked: the chain's nodes take the place of marks from there on. */
static uint32_t composed(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t node, uint32_t boundary,
                         uint32_t chain, bool marked)
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
        if (node == boundary) {
            to = node ? profile->nodes.items[node].parent : 0;
            to = marked ? to : put_onto(profile, to, chain);
        }
        stacks->path = pt_grow(stacks->path, &stacks->path_capacity, (uint64_t)depth + 1, sizeof *stacks->path);
        stacks->path[depth++] = node;
    }
    while (depth--) {
        struct pt_task_stack made = {.node = stacks->path[depth], .chain = chain};
        if (marked)
            to = renamed(stacks, profile, to, made.node, chain);
        else if (made.node != boundary)
            to = pt_add_node(profile, to, profile->nodes.items[made.node].frame);
        made.to = to;
        PT_FIND_OR_APPEND(&stacks->stacks, stacks_hash(&made), stacks_same, &made, made);
    }
    return to;
}

uint32_t pt_task_stack(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t node, uint32_t labels)
{
    if (!node) /* when a thread was busy */
        return node;
    struct pt_task_chain chain = {0};
    if (labels)
        chain = chain_of(stacks, profile, labels);
    struct pt_task_marks marks = marks_of(stacks, profile, node);
    chain.whole = marks.has_task ? chain.whole : chain.awaiters;
    return chain.whole || marks.awaiters ? composed(stacks, profile, node, marks.begin, chain.whole, marks.awaiters > 0)
                                         : node;
}

uint32_t pt_stack_below(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t node, uint32_t above)
{
    return composed(stacks, profile, node, 0, above, false);
}

void pt_task_stacks_free(struct pt_task_stacks *stacks)
{
    free(stacks->chains);
    free(stacks->path);
    PT_FREE_TABLE(&stacks->marks);
    PT_FREE_TABLE(&stacks->stacks);
}
