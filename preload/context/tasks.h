/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what tasks have, be they made by asyncio in C, by asyncio in Python (as with nest_asyncio), or by trio. The
 * interpreter does not say which of the last two runs: the frame does that runs it. */
#ifndef PP_CONTEXT_TASKS_H
#define PP_CONTEXT_TASKS_H

#include "context.h"

/* Reads a task's name; that of its coroutine for a default name. async-signal-safe. */
bool pp_task_name_read(const struct pp_context_reader *reader, uintptr_t task, struct pp_str *text);

/* Returns the task that is run by the innermost frame that runs tasks, among the `frames` innermost ones; 0: none.
 * *first is the index of the frame with which its own stack begins, or PP_NO_FRAME. async-signal-safe; needs
 * slot->scratch with the resolved frames. */
uintptr_t pp_task_of_frames(const struct pp_context_reader *reader, uint32_t frames, uint32_t *first);

/* Puts a task and the tasks that await it into the ring. async-signal-safe; needs slot->scratch. */
bool pp_task_put(const struct pp_context_reader *reader, const struct pp_context *task, uint32_t *known);
/* Puts a chain of tasks, each of which awaits the one before it, each of a kind of its own; the first one awaits `task`
 * (0: no task). async-signal-safe; needs slot->scratch. */
bool pp_awaiters_put(const struct pp_context_reader *reader, uintptr_t task, uintptr_t awaiter, uint32_t *known);

/* Reads the Context of contextvars that the task runs in; false for tasks that are not asyncio's own in C.
 * async-signal-safe. */
bool pp_task_context_read(const struct pp_context_reader *reader, uintptr_t task, uintptr_t *py_context);

#endif
