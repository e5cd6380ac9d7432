/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the Python functions whose frames tell what a sample belongs to, as data. */
#ifndef PP_FRAMEWORKS_FUNCTIONS_H
#define PP_FRAMEWORKS_FUNCTIONS_H

#include <stdint.h>

enum pp_frame_rule {
    PP_FRAME_ANY,         /* tells nothing */
    PP_FRAME_LOOP,        /* an event loop of asyncio */
    PP_FRAME_HUB,         /* outermost in its stack: switches to the greenlets whose turn it is */
    PP_FRAME_CALLS,       /* outermost in a greenlet's stack; its local is what the greenlet runs */
    PP_FRAME_THREAD,      /* outermost in its stack; its local is the threading.Thread that the code runs in */
    PP_FRAME_STEP,        /* runs an asyncio task that is made of Python: its local */
    PP_FRAME_TRIO,        /* runs the tasks of trio in turn: its local */
    PP_FRAME_FROM_THREAD, /* of anyio: a task for which a thread waits; its local is the scope that the thread is for */
    PP_FRAME_JOB,         /* runs a job or a test: the ways of its source begin at its local */
    PP_FRAME_SERVES,      /* from here on: they serve a request (context/endpoint.c) */
    PP_FRAME_REQUEST = PP_FRAME_SERVES, /* of a server or a framework, whatever the route is */
    PP_FRAME_CYCLE,                     /* of uvicorn: its local has the scope of the request */
    PP_FRAME_SCOPE,                     /* its local is the scope of a request, or of the server's life */
    PP_FRAME_SOURCE,                    /* the ways of its source begin at its local */
    PP_FRAME_ROUTE,                     /* of Starlette, and of what is made of it */
    PP_FRAME_FASTAPI,
    PP_FRAME_MOUNT,
    PP_FRAME_WORK,        /* in a thread of a pool, maybe for a task; so are those after it */
    PP_FRAME_WORKER,      /* in a thread of anyio, for a task */
    PP_FRAME_TRIO_WORKER, /* in a thread of trio, for a task, which is in the list that its local has */
};

struct pp_ascii {
    const char *characters;
    uint32_t length;
};
#define PP_ASCII(text)                                                                                                 \
    {                                                                                                                  \
        text, sizeof text - 1                                                                                          \
    }

struct pp_function {
    enum pp_frame_rule rule;  /* PP_FRAME_ANY: the end of a list */
    struct pp_ascii qualname; /* before 3.11 code objects have what follows the last dot only */
    struct pp_ascii file;     /* what the path ends with, after a slash or from its beginning */
    const char *local;        /* a local variable that it must have; NULL: none */
    const char *second;       /* a local variable that it may have */
};

/* Those that belong to no row of pp_sources. */
extern const struct pp_function pp_functions[];

#endif
