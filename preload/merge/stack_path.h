/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one stack from the root of the call tree to its leaf. Flush thread only.
 *
 * The last stack's way is kept: as long as a stack's steps are equal to those, from the root on, their results are
 * those of the last stack, and no table is searched. Most stacks of a thread differ in their last few frames only, and
 * each search of a table that was not used for some milliseconds is a cache miss or two. */
#ifndef PP_MERGE_STACK_PATH_H
#define PP_MERGE_STACK_PATH_H

#include "../log/tables.h"
#include <stdbool.h>

#define PP_HIDDEN_FRAME UINT32_MAX /* the frame is not shown */

/* What a step depends on, besides the steps before it. */
struct pp_path_key {
    uint64_t words[2];
};

struct pp_path {
    struct pp_tables *tables;
    uint32_t node, frame; /* the last ones */
    uint32_t steps;
    bool departed; /* a step differed from the last stack's */
    bool failed;   /* a step had no memory: the whole stack is lost */
    bool outside;  /* steps are not taken: these frames are left out */
};

/* Starts at the root. code_changes: pp_codes_changes(). */
struct pp_path pp_path_start(struct pp_tables *tables, uint64_t code_changes);

/* Whether the last stack's step at this place has this key. */
bool pp_path_repeats(const struct pp_path *path, struct pp_path_key key);

/* Takes the step that the last stack took at this place, if that had this key, or none at all if the path is outside;
 * else false, and the caller finds the frame and calls pp_path_step. */
bool pp_path_repeat(struct pp_path *path, struct pp_path_key key);

/* Steps to the frame's node: one that is shown, PP_HIDDEN_FRAME, or 0 for no memory. */
void pp_path_step(struct pp_path *path, struct pp_path_key key, uint32_t frame);

/* Forgets the last stack: addresses may mean something else now. */
void pp_path_forget(void);

#endif
