/* What the flush thread has found out about the sources of contexts: addresses of types and keys. What is there may
 * have been freed since, so handlers compare these addresses, and read there through safe copies only. The facts are of
 * one interpreter, the first in which a source was found; a struct that was published is never changed nor freed. */
#ifndef PP_CONTEXT_FACTS_H
#define PP_CONTEXT_FACTS_H

#include "../capture/python_layout.h"

/* asyncio.h */
struct pp_asyncio_facts {
    uintptr_t task_type;     /* _asyncio.Task; 0: not found */
    uintptr_t running_tasks; /* the dict {loop: task} of all threads, 3.8 to 3.13 */
};

struct pp_context_facts {
    const struct pp_python *python;
    uintptr_t interpreter_state;
    struct pp_asyncio_facts asyncio;
};

#endif
