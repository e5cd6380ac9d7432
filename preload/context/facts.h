/* SPDX-License-Identifier: Apache-2.0 */
/* Holds what the flush thread has found out about the sources of contexts: addresses of types and keys. What is there
 * may have been freed since, so handlers compare these addresses, and read there through safe copies only. The facts
 * are of one interpreter, the first in which a source was found; a struct that was published is never changed nor
 * freed. */
#ifndef PP_CONTEXT_FACTS_H
#define PP_CONTEXT_FACTS_H

#include "../capture/python.h"
#include "../frameworks/sources.h"
#include "context_vars.h"
#include "values.h"

#define PP_CONTEXT_SOURCES_TEXT 1536

/* asyncio.h */
struct pp_asyncio_facts {
    uintptr_t task_type;     /* _asyncio.Task; 0: not found */
    uintptr_t running_tasks; /* the dict {loop: task} of all threads, 3.8 to 3.13 */
    /* What keeps that dict alive: it is in the dict of a module, which is in sys.modules. 0: not known. */
    struct {
        uintptr_t modules, module, module_type, dict;
        struct pp_dict_key module_key, tasks_key;
    } holder;
    uintptr_t python_task_type, python_future_type; /* the same, made of Python */
};

/* trio.h: slots of its tasks, and the type of cells */
struct pp_trio_facts {
    struct pp_member name, coroutine, nursery; /* not found: trio is not there */
    uintptr_t cell_type;
};

/* awaiters.h: types of callbacks */
struct pp_awaiters_facts {
    uintptr_t future_type, function_type, builtin_type, method_type;
    uintptr_t partial_type;                   /* 0: these were not found */
    bool anyio;                               /* anyio is imported */
    struct pp_member cancel_scope, host_task; /* of anyio's classes, where these are slots */
};

/* greenlet.h */
struct pp_greenlet_facts {
    uintptr_t type, size, dict_offset; /* greenlet.greenlet, its instances' size and where they have their dict */
    uintptr_t getter;                  /* PyGreenlet_GetCurrent */
    uint64_t tls_module;               /* since 2.0: whose TLS block says which greenlet the thread runs; or before */
    uintptr_t current;                 /* the static variable that says which one some thread runs; both 0: not found */
    uintptr_t hub_type;                /* gevent.hub.Hub, */
    uintptr_t gevent_type;             /* gevent.Greenlet, */
    uintptr_t name_key, run_key;       /* keys in the dict of an instance, */
    uintptr_t spawn_type;              /* and the frames that it keeps of where it was spawned; 0: not found */
    uintptr_t function_type, method_type, partial_type;
};

/* thread_context.h */
struct pp_thread_context_facts {
    struct pp_tls_word word; /* kind PP_TLS_NONE: no module exports it */
    bool follows_tasks, follows_greenlets;
};
/* walk_source.h: of a row of pp_sources */
struct pp_source_facts {
    struct pp_context_var variable; /* if it has one */
    struct pp_member
        steps[PP_WAY_STEPS]; /* of a step with a class the class or its slot, of a key its address as type */
};

/* Modules by whose dicts code finds what it reads. Those that rows of pp_sources name follow (labels/source_modules.h).
 */
enum pp_source_module {
    PP_MODULE_ASYNCIO,
    PP_MODULE_ASYNCIO_PACKAGE,
    PP_MODULE_ASYNCIO_TASKS,
    PP_MODULE_TRIO,
    PP_MODULE_TYPES,
    PP_MODULE_FUNCTOOLS,
    PP_MODULE_ANYIO,
    PP_MODULE_REQUESTS,
    PP_MODULE_GREENLET,
    PP_MODULE_OLD_GREENLET,
    PP_MODULE_GEVENT,
    PP_MODULE_GEVENT_GREENLET,
    PP_MODULE_GEVENT_HUB,
    PP_MODULE_TRIO_PACKAGE,
    PP_MODULE_DDTRACE_PACKAGE,
    PP_MODULES_OF_ROWS
};

struct pp_context_facts {
    const struct pp_python *python;
    uintptr_t interpreter_state;
    struct pp_asyncio_facts asyncio;
    struct pp_trio_facts trio;
    struct pp_awaiters_facts awaiters;
    struct pp_greenlet_facts greenlet;
    struct pp_thread_context_facts thread_context; /* of all threads, in whatever interpreter */
    struct pp_member
        counted_steps;         /* of what the Python module puts around a coroutine that it measures: it awaits it */
    uint32_t found;            /* bits of the rows of pp_sources of which all was found that they need; */
    uint32_t spans, endpoints; /* those among them that are asked for spans, and for endpoints, by their variables */
    struct pp_source_facts sources[PP_SOURCES_MAX];
    bool unread;                        /* the program has imported sources that were not found */
    char text[PP_CONTEXT_SOURCES_TEXT]; /* what was found, and what was not, for people */
};

#endif
