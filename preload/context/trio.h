/* SPDX-License-Identifier: Apache-2.0 */
/* Knows the tasks of trio, which are of Python and have slots. tasks.c finds the running task. */
#ifndef PP_CONTEXT_TRIO_H
#define PP_CONTEXT_TRIO_H

#include "context.h"

/* Finds the slots of tasks, by the dict of the module trio._core._run. Returns false if they are not there. Flush
 * thread. */
bool pp_trio_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_trio_facts *facts);

/* Returns the task in whose nursery the task runs: it waits at the nursery's end. 0: none, or trio's own, in which all
 * others run. async-signal-safe. */
uintptr_t pp_trio_parent(const struct pp_context_reader *reader, uintptr_t task);

/* Returns the task that awaits what a thread does for it, by the cell of the thread's task_register; 0: none, or it has
 * abandoned the thread. async-signal-safe. */
uintptr_t pp_trio_awaiter_of_work(const struct pp_context_reader *reader, uintptr_t cell);

#endif
