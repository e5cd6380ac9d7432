/* SPDX-License-Identifier: Apache-2.0 */
/* Holds what the flush thread has found out about the sources of contexts: addresses of types and keys. What is there
 * may have been freed since, so handlers compare these addresses, and read there through safe copies only. The facts
 * are of one interpreter, the first in which a source was found; a struct that was published is never changed nor
 * freed. */
#ifndef PP_CONTEXT_FACTS_H
#define PP_CONTEXT_FACTS_H

#include "../capture/python.h"
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

/* sources.h */
struct pp_opentelemetry_facts {
    struct pp_context_var variable; /* not found: the source is not there; in all of these */
    uintptr_t span_key;             /* of the current span among the variable's values, */
    uintptr_t baggage_key;          /* and of the baggage; 0: not imported */
};
struct pp_ddtrace_facts {
    struct pp_context_var variable;
    struct pp_member name, trace_id, span_id;
};
struct pp_sentry_facts {
    struct pp_context_var variable;
    struct pp_member span, trace_id, span_id, description, operation, transaction_name;
};
/* thread_context.h */
struct pp_thread_context_facts {
    struct pp_tls_word word; /* kind PP_TLS_NONE: no module exports it */
    bool follows_tasks, follows_greenlets;
};
struct pp_flask_facts {
    struct pp_context_var variable;
};
/* aiohttp.h */
struct pp_aiohttp_facts {
    struct pp_member route; /* not found: it is no slot, or aiohttp.web is not there */
};
struct pp_served_facts {
    struct pp_context_var variable;
    struct pp_member own, name, endpoint;
    struct pp_member spawned; /* the request of what is in its place where gevent runs something for it */
    struct pp_member steps;   /* of what measures a coroutine, and awaits it */
};
struct pp_labels_facts {
    struct pp_context_var variable;
};

/* Modules by whose dicts the sources are found. */
enum pp_source_module {
    PP_MODULE_ASYNCIO,
    PP_MODULE_ASYNCIO_PACKAGE,
    PP_MODULE_ASYNCIO_TASKS,
    PP_MODULE_TRIO,
    PP_MODULE_TYPES,
    PP_MODULE_FUNCTOOLS,
    PP_MODULE_ANYIO,
    PP_MODULE_OPENTELEMETRY,
    PP_MODULE_OPENTELEMETRY_SPAN,
    PP_MODULE_OPENTELEMETRY_BAGGAGE,
    PP_MODULE_DDTRACE,
    PP_MODULE_DDTRACE_SPAN,
    PP_MODULE_SENTRY,
    PP_MODULE_SENTRY_SPAN,
    PP_MODULE_FLASK,
    PP_MODULE_LABELS,
    PP_MODULE_REQUESTS,
    PP_MODULE_DJANGO, /* from here on: known by their frames (endpoint.h) */
    PP_MODULE_DJANGO_WSGI,
    PP_MODULE_DJANGO_ASGI,
    PP_MODULE_STARLETTE,
    PP_MODULE_STARLETTE_APPLICATIONS,
    PP_MODULE_FASTAPI,
    PP_MODULE_AIOHTTP,
    PP_MODULE_AIOHTTP_PROTOCOL, /* up to here */
    PP_MODULE_GREENLET,
    PP_MODULE_OLD_GREENLET,
    PP_MODULE_GEVENT,
    PP_MODULE_GEVENT_GREENLET,
    PP_MODULE_GEVENT_HUB,
    PP_MODULE_TRIO_PACKAGE, /* from here on: these have versions */
    PP_MODULE_DJANGO_PACKAGE,
    PP_MODULE_STARLETTE_PACKAGE,
    PP_MODULE_AIOHTTP_PACKAGE,
    PP_MODULE_FLASK_PACKAGE,
    PP_MODULE_DDTRACE_PACKAGE,
    PP_MODULE_SENTRY_PACKAGE,
    PP_MODULE_OPENTELEMETRY_VERSION,
    PP_SOURCE_MODULES
};

struct pp_context_facts {
    const struct pp_python *python;
    uintptr_t interpreter_state;
    struct pp_asyncio_facts asyncio;
    struct pp_trio_facts trio;
    struct pp_awaiters_facts awaiters;
    struct pp_greenlet_facts greenlet;
    struct pp_aiohttp_facts aiohttp;
    struct pp_thread_context_facts thread_context; /* of all threads, in whatever interpreter */
    bool variables;                                /* one of these was found: */
    struct pp_opentelemetry_facts opentelemetry;
    struct pp_ddtrace_facts ddtrace;
    struct pp_sentry_facts sentry;
    struct pp_flask_facts flask;
    struct pp_served_facts served;
    struct pp_labels_facts labels;
    bool unread;                        /* the program has imported sources that were not found */
    char text[PP_CONTEXT_SOURCES_TEXT]; /* what was found, and what was not, for people */
};

#endif
