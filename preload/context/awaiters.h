/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which tasks wait for an asyncio task: the task that awaits it, the task that awaits that, and so on. Nothing in
 * a task says so before 3.14; but what waits has put a callback into the task, and the callback leads to the waiting
 * task: of await, gather, wait, wait_for, shield, TaskGroup, and anyio's task groups. as_completed leads nowhere up to
 * 3.13. */
#ifndef PP_CONTEXT_AWAITERS_H
#define PP_CONTEXT_AWAITERS_H

#include "context.h"

/* Finds the types of callbacks, by the dicts of modules. Returns false if chains cannot be read. Flush thread. */
bool pp_awaiters_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_awaiters_facts *facts);

/* Returns the task that awaits the task, 0: none, or it is not known. Tasks and their callbacks are changed by the
 * thread that runs their event loop: only for that thread while it holds the GIL. async-signal-safe. */
uintptr_t pp_awaiter_of(const struct pp_context_reader *reader, uintptr_t task);

/* Returns the task that awaits the future of what another thread does, 0: none. The task is suspended meanwhile.
 * async-signal-safe. */
uintptr_t pp_awaiter_of_result(const struct pp_context_reader *reader, uintptr_t future);
/* Does the same for the _WorkItem of a ThreadPoolExecutor. async-signal-safe. */
uintptr_t pp_awaiter_of_work(const struct pp_context_reader *reader, uintptr_t item);

#endif
