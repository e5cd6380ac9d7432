/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the endpoint that the running thread or task serves, by the frames of the frameworks that keep no context
 * variable for it: by the rows of frameworks/sources.c, and the path of Starlette and FastAPI. */
#ifndef PP_CONTEXT_ENDPOINT_H
#define PP_CONTEXT_ENDPOINT_H

#include "../capture/frame_rules.h"
#include "context.h"

#define PP_SOURCE_FRAMES                                                                                               \
    2 /* that are read: with each middleware of Django there is another one of the same request                        \
       */

/* Returns the task that awaits what the frame of PP_FRAME_WORK, or of a rule after it, does; 0: none, or it is not
 * known. async-signal-safe. */
uintptr_t pp_awaiter_of_frame(const struct pp_context_reader *reader, uintptr_t frame, struct pp_frame_role role);

/* Returns whether a frame of the stack, or else of the tasks that await what it does, serves a request, and reads its
 * endpoint; context->identity is 0 if that is not known, and *why says why. async-signal-safe; needs slot->scratch with
 * the resolved frames and the awaiters. */
bool pp_endpoint_read(const struct pp_context_reader *reader, const struct pp_python_stack *stack,
                      struct pp_context *context, enum pp_reason *why);

#endif
