/* SPDX-License-Identifier: Apache-2.0 */
#include "fold.h"

#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "../model/kind.h"
#include "../model/task_stacks.h"

enum role { SHOWN, INTERPRETER, LIBRARY, NATIVE_MARK, TASK, AWAITED };

static enum role role_of(const struct pt_profile *profile, const struct pt_frame *frame, enum pt_native native)
{
    enum pt_kind kind = pt_kind_of(profile, frame);
    if (kind == PT_KIND_NATIVE || (native == PT_NATIVE_OWN && kind != PT_KIND_APPLICATION && kind != PT_KIND_PSEUDO))
        return LIBRARY;
    if (kind == PT_KIND_INTERPRETER)
        return INTERPRETER;
    if (kind != PT_KIND_PSEUDO)
        return SHOWN;
    const char *text = pt_string(profile, frame->subject);
    return strncmp(text, PP_PSEUDO_NATIVE_TRUNCATED, sizeof PP_PSEUDO_NATIVE_TRUNCATED - 1) == 0 ? NATIVE_MARK
           : strcmp(text, PP_PSEUDO_JIT) == 0 || strcmp(text, PP_PSEUDO_JIT_OR_UNLOADED) == 0    ? LIBRARY
           : pt_is_task(text)                                                                    ? TASK
           : strcmp(text, PP_PSEUDO_AWAITED) == 0                                                ? AWAITED
                                                                                                 : SHOWN;
}

static uint32_t pseudo_node(struct pt_profile *profile, uint32_t parent, const char *text)
{
    return pt_add_node(profile, parent, pt_add_pseudo(profile, text));
}

/* Native code is shown with its callers in libraries, and with marks of what is missing between them. */
static struct pt_folded show_libraries(struct pt_profile *profile, struct pt_folded parent, uint32_t frame,
                                       enum role role)
{
    uint32_t node;
    switch (role) {
    case INTERPRETER:
        node = parent.under ? parent.under : pseudo_node(profile, parent.base, PP_PSEUDO_INTERPRETER);
        return (struct pt_folded){node, parent.under, parent.base};
    case LIBRARY:
        node = pt_add_node(profile, parent.node, frame);
        return (struct pt_folded){node, parent.under ? node : 0, parent.base};
    default:
        node = pt_add_node(profile, parent.under ? parent.under : parent.node, frame);
        return (struct pt_folded){node, parent.under, parent.base};
    }
}

static struct pt_folded show_none(const struct pt_fold *fold, struct pt_profile *profile, struct pt_folded parent,
                                  uint32_t frame, enum role role)
{
    if (parent.under)
        return (struct pt_folded){parent.under, parent.under, parent.base};
    bool ends_here = role == NATIVE_MARK && parent.node == parent.base;
    const char *outside = fold->native == PT_NATIVE_OWN ? PP_PSEUDO_OTHERS : PP_PSEUDO_NATIVE;
    uint32_t node = ends_here ? pt_add_node(profile, parent.base, frame) : pseudo_node(profile, parent.base, outside);
    return (struct pt_folded){node, 0, parent.base};
}

static bool is_creator(const struct pt_profile *profile, uint32_t node)
{
    const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[node].frame];
    return frame->kind == PP_FRAME_PSEUDO && strcmp(pt_string(profile, frame->subject), PP_PSEUDO_CREATOR) == 0;
}

/* The task's own frames follow: native ones among them are those of Python functions. At the root there may follow
 * those of a thread. */
static struct pt_folded show_task(const struct pt_fold *fold, struct pt_profile *profile, const struct pt_node *task)
{
    const struct pt_folded outside = fold->nodes.items[task->parent];
    uint32_t at = outside.node;
    if (task->parent && !fold->in_task.items[task->parent] && !is_creator(profile, task->parent))
        at = pseudo_node(profile, outside.base, PP_PSEUDO_LOOP);
    uint32_t node = pt_add_node(profile, at, task->frame);
    bool at_root = at == outside.base && !outside.under;
    return (struct pt_folded){node, at_root ? 0 : node, at_root ? node : outside.base};
}

static struct pt_folded folded(const struct pt_fold *fold, struct pt_profile *profile, uint32_t number)
{
    const struct pt_node node = profile->nodes.items[number];
    const struct pt_folded parent = fold->nodes.items[node.parent];
    enum role role = fold->classes.items[node.frame];
    if (role == TASK)
        return show_task(fold, profile, &node);
    if (role != SHOWN && role != AWAITED)
        return fold->native == PT_NATIVE_LIBRARIES ? show_libraries(profile, parent, node.frame, role)
                                                   : show_none(fold, profile, parent, node.frame, role);
    uint32_t to = pt_add_node(profile, parent.under ? parent.under : parent.base, node.frame);
    if (role == AWAITED) /* the frames of a thread follow */
        return (struct pt_folded){to, 0, to};
    return (struct pt_folded){to, to, parent.base};
}

void pt_fold_add(struct pt_fold *fold, struct pt_profile *profile)
{
    if (fold->native == PT_NATIVE_ALL)
        return;
    if (!fold->nodes.count) {
        PT_APPEND(&fold->nodes);
        PT_APPEND(&fold->in_task);
    }
    /* Folding adds nodes, which fold to themselves. */
    while (fold->nodes.count < profile->nodes.count) {
        for (uint32_t i = fold->classes.count; i < profile->frames.count; i++)
            *PT_APPEND(&fold->classes) = (uint8_t)role_of(profile, &profile->frames.items[i], fold->native);
        const struct pt_node *node = &profile->nodes.items[fold->nodes.count];
        bool in_task = fold->classes.items[node->frame] == TASK || fold->in_task.items[node->parent];
        *PT_APPEND(&fold->in_task) = in_task;
        struct pt_folded next = folded(fold, profile, fold->nodes.count);
        *PT_APPEND(&fold->nodes) = next;
    }
}

uint32_t pt_fold_node(const struct pt_fold *fold, uint32_t node)
{
    return fold->native == PT_NATIVE_ALL ? node : fold->nodes.items[node].node;
}

void pt_fold_free(struct pt_fold *fold)
{
    PT_FREE_TABLE(&fold->nodes);
    PT_FREE_TABLE(&fold->in_task);
    PT_FREE_TABLE(&fold->classes);
}
