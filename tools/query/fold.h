/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds native frames into the Python functions that run them, as --native says (request.h).
 *
 * `libraries` folds the interpreter's frames, and all native ones above the first Python frame. `none` folds all native
 * frames; `own`, which only the page has, those of Python code that is not the application's, too. A stack that would
 * lose all frames is "[interpreter]", "[native]" or "[code of others]". Marks of native stacks that are not complete
 * stay only where a frame that stays follows from native code, or where the stack ends.
 *
 * What is outside of a task (model/task_stacks.h), the event loop, is "[loop]". "[creator]" there stays as it is.
 */
#ifndef PT_QUERY_FOLD_H
#define PT_QUERY_FOLD_H

#include "../model/model.h"

struct pt_folded {
    uint32_t node;  /* the folded stack */
    uint32_t under; /* the same without what the next frame may fold; 0: so far there are native frames only */
    uint32_t base;  /* of these, what is no native frame: tasks at the root; 0: nothing */
};

/* Starts as {.native = …}; pt_fold_free ends it. */
struct pt_fold {
    enum pt_native native;
    PT_TABLE_OF(struct pt_folded) nodes; /* by node of the profile */
    PT_TABLE_OF(bool) in_task;           /* by such a node: whether it has a task */
    PT_TABLE_OF(uint8_t) classes;        /* by frame */
};

/* Folds the stacks that the profile has gained since the last call. */
void pt_fold_add(struct pt_fold *fold, struct pt_profile *profile);

/* Returns the folded stack of a node that pt_fold_add has met. */
uint32_t pt_fold_node(const struct pt_fold *fold, uint32_t node);

void pt_fold_free(struct pt_fold *fold);

#endif
