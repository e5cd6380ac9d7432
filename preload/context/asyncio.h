/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the asyncio task that the thread runs, also where its stack is torn: the interpreter says which. Of uvloop,
 * anyio and every other loop that runs tasks of C, too. */
#ifndef PP_CONTEXT_ASYNCIO_H
#define PP_CONTEXT_ASYNCIO_H

#include "context.h"

#define PP_ASYNCIO_TASKS "_current_tasks" /* in the module _asyncio */

/* Finds the type of tasks, by the dict of the module _asyncio. Returns false if it is not there, or if it is not known
 * how tasks are laid out. Flush thread. */
bool pp_asyncio_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_asyncio_facts *facts,
                     const char **why);

/* Whether the thread runs an event loop, or may do so. async-signal-safe. */
bool pp_asyncio_runs(const struct pp_context_reader *reader);
/* Reads which object runs as a task: 0 if none does. false: it could not be read. async-signal-safe. */
bool pp_asyncio_task(const struct pp_context_reader *reader, uintptr_t *task);

#endif
