/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes the Python functions whose frames tell what a sample belongs to: those of frameworks/. */
#ifndef PP_CAPTURE_FRAME_RULES_H
#define PP_CAPTURE_FRAME_RULES_H

#include "objects.h"
#include "record.h"

/* What is known of a code object. A function that has the name and file of another one but not its locals has no rule.
 */
struct pp_frame_role {
    uint8_t rule;          /* enum pp_frame_rule */
    uint8_t local, second; /* numbers of the locals that its rule is about; PP_NO_LOCAL: it has none. Of PP_FRAME_SOURCE
                              and PP_FRAME_JOB the second is the number of its row in pp_sources */
};
#define PP_NO_LOCAL 255

/* Returns what is known of a function by its definition; code: the object that this is of. async-signal-safe. */
struct pp_frame_role pp_frame_role_of(const struct pp_record_code *record, const struct pp_object_reader *reader,
                                      uintptr_t code);
/* Returns it for what may be no code object at all. async-signal-safe. */
struct pp_frame_role pp_frame_role_read(const struct pp_object_reader *reader, uintptr_t code);
/* Returns whether the code is not as that of the known function that it should be: it is in that function's file and
 * not made by another function, as wrappers are, or it has its name and is in its package, and yet it has no rule, or
 * not all of it. Its locals, its name or its file differ then. For the flush thread. */
bool pp_frame_is_lost(const struct pp_object_reader *reader, uintptr_t code, const struct pp_function *known);

/* Returns the number of a code object's local variable with this ASCII name, PP_NO_LOCAL if it has none. One of the
 * function around it counts as its own, if it uses it: its value is the cell. Up to 3.10 an argument that functions
 * within use is in both lists, and moves to its cell. async-signal-safe. */
uint8_t pp_frame_local_find(const struct pp_object_reader *reader, uintptr_t code, const char *name);
/* Reads a local variable of a frame. async-signal-safe. */
bool pp_frame_local_read(const struct pp_object_reader *reader, uintptr_t frame, unsigned number, uintptr_t *value);

#endif
