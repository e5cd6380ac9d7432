/* SPDX-License-Identifier: Apache-2.0 */
/* Reads where the frames of tasks, coroutines and generators are. All: async-signal-safe. */
#ifndef PP_CONTEXT_COROUTINE_H
#define PP_CONTEXT_COROUTINE_H

#include "context.h"

/* Reads the address of what a task runs, of any library; false: the type of the task is not known. */
bool pp_task_coroutine_read(const struct pp_context_reader *reader, uintptr_t task, uintptr_t *coroutine);
/* Whether the object is a coroutine of Python, or a generator that is used as a coroutine. */
bool pp_is_coroutine(const struct pp_object_reader *reader, uintptr_t object);

/* Returns the address of the Python frame with which the task's own stack begins, 0 if it is not Python's.
 * async-signal-safe. */
uintptr_t pp_task_frame(const struct pp_context_reader *reader, uintptr_t task);

/* Returns the address of the frame of a coroutine of Python, or of a generator; 0: it is none. async-signal-safe. */
uintptr_t pp_coroutine_frame(const struct pp_object_reader *reader, uintptr_t coroutine);

/* Does so for what is a coroutine, or a generator of any kind. async-signal-safe. */
uintptr_t pp_generator_frame(const struct pp_object_reader *reader, uintptr_t generator);

/* Whether the task's coroutine has returned; 3.14 keeps the task as what awaits a gather() that it has not awaited.
 * async-signal-safe. */
bool pp_task_is_over(const struct pp_context_reader *reader, uintptr_t task);

#endif
