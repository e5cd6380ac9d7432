/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the ways of a source (frameworks/sources.h): reads what the sample belongs to from the object where the reading
 * begins. All functions are async-signal-safe and bounded. */
#ifndef PP_CONTEXT_WALK_SOURCE_H
#define PP_CONTEXT_WALK_SOURCE_H

#include "../capture/frame_rules.h"
#include "context.h"

/* Reads what the row with this number says, from `start` on: context->identity stays 0 if the sample belongs to
 * nothing. Returns false if it could not be read. */
bool pp_source_read(const struct pp_context_reader *reader, unsigned number, uintptr_t start,
                    struct pp_context *context);

/* Finds where the reading of a row begins: at a local variable of its frame, or what that has in its cell where a
 * function within uses it. Returns false where it has no value, as at the frame's beginning. */
bool pp_source_start(const struct pp_context_reader *reader, uintptr_t frame, struct pp_frame_role role,
                     uintptr_t *start);

/* Does so from the value of the row's context variable, which was found. vars: of pp_context_vars_open. */
bool pp_source_read_variable(const struct pp_context_reader *reader, unsigned number, uintptr_t vars,
                             struct pp_context *context);

#endif
