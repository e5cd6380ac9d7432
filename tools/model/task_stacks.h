/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the tasks of samples into their stacks.
 *
 * The log has the name of a sample's task, and of the tasks that await it, among the sample's labels, and "[task]" in
 * the stack where the task's own frames begin. There the stack gets "[task NAME]" for each awaiter, the outermost
 * first, and for the task. Awaiters of what runs in no task (work that was given to an executor's thread) are put at
 * the root.
 *
 * Where the stack has the awaiters' frames, an "[awaiter]" precedes those of each, the outermost first, and "[task]" or
 * "[awaited]" follows the last. These get the names.
 */
#ifndef PT_MODEL_TASK_STACKS_H
#define PT_MODEL_TASK_STACKS_H

#include "model.h"

/* Returns whether a pseudo-frame is "[task]" or "[task NAME]". */
bool pt_is_task(const char *text);

/* What the stack that ends at a node has of tasks. */
struct pt_task_marks {
    uint32_t begin;    /* node of the first "[awaiter]", without one of the innermost "[task]"; 0: there is none */
    uint32_t awaiters; /* how many "[awaiter]" */
    enum { PT_MARK_NONE, PT_MARK_AWAITER, PT_MARK_AWAITED, PT_MARK_TASK } mark; /* that the node is */
    bool of_awaiter, has_task;                                                  /* the node's frame is an awaiter's */
};

/* Nodes that hold only the frames of tasks; 0: there are none. */
struct pt_task_chain {
    bool known;
    uint32_t awaiters, whole; /* whole: with the task itself */
};

/* A node and what it becomes with a chain in it. */
struct pt_task_stack {
    uint32_t node, chain, to;
};

/* Starts as {.no_awaiters = …}; pt_task_stacks_free ends it. */
struct pt_task_stacks {
    bool no_awaiters;                        /* they are left out */
    PT_TABLE_OF(struct pt_task_marks) marks; /* by node */
    struct pt_task_chain *chains;            /* by label set */
    uint32_t chain_capacity;
    PT_TABLE_OF(struct pt_task_stack) stacks;
    uint32_t *path; /* scratch */
    uint32_t path_capacity;
};

/* Returns the stack of a sample with its tasks in it; the same node if it has none. */
uint32_t pt_task_stack(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t node, uint32_t labels);

/* Returns the stack below the frames of another one. */
uint32_t pt_stack_below(struct pt_task_stacks *stacks, struct pt_profile *profile, uint32_t node, uint32_t above);

void pt_task_stacks_free(struct pt_task_stacks *stacks);

#endif
