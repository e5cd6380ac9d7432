/* SPDX-License-Identifier: Apache-2.0 */
/* Knows the Python functions whose frames tell what a sample belongs to. */
#ifndef PP_CAPTURE_FRAME_RULES_H
#define PP_CAPTURE_FRAME_RULES_H

#include "objects.h"
#include "record.h"

enum pp_frame_rule {
    PP_FRAME_ANY,         /* tells nothing */
    PP_FRAME_LOOP,        /* an event loop of asyncio */
    PP_FRAME_HUB,         /* outermost in its stack: switches to the greenlets whose turn it is */
    PP_FRAME_CALLS,       /* outermost in a greenlet's stack; its local is what the greenlet runs */
    PP_FRAME_THREAD,      /* outermost in its stack; its local is the threading.Thread that the code runs in */
    PP_FRAME_STEP,        /* runs an asyncio task that is made of Python: its local */
    PP_FRAME_TRIO,        /* runs the tasks of trio in turn: its local */
    PP_FRAME_FROM_THREAD, /* of anyio: a task for which a thread waits; its local is the scope that the thread is for */
    PP_FRAME_SERVES,      /* from here on: they serve a request (context/endpoint.c) */
    PP_FRAME_REQUEST = PP_FRAME_SERVES, /* of a server or a framework, whatever the route is */
    PP_FRAME_CYCLE,                     /* of uvicorn: its local has the scope of the request */
    PP_FRAME_SCOPE,                     /* its local is the scope of a request, or of the server's life */
    PP_FRAME_AIOHTTP,                   /* its local is the request */
    PP_FRAME_DJANGO,                    /* its local is the request */
    PP_FRAME_ROUTE,                     /* of Starlette, and of what is made of it */
    PP_FRAME_FASTAPI,
    PP_FRAME_MOUNT,
    PP_FRAME_WORK,        /* in a thread of a pool, maybe for a task; so are those after it */
    PP_FRAME_WORKER,      /* in a thread of anyio, for a task */
    PP_FRAME_TRIO_WORKER, /* in a thread of trio, for a task, which is in the list that its local has */
};

/* What is known of a code object. A function that has the name and file of another one but not its locals has no rule.
 */
struct pp_frame_role {
    uint8_t rule;          /* enum pp_frame_rule */
    uint8_t local, second; /* numbers of the locals that its rule is about; PP_NO_LOCAL: it has none */
};
#define PP_NO_LOCAL 255

/* Returns what is known of a function by its definition; code: the object that this is of. async-signal-safe. */
struct pp_frame_role pp_frame_role_of(const struct pp_record_code *record, const struct pp_object_reader *reader,
                                      uintptr_t code);
/* Returns it for what may be no code object at all. async-signal-safe. */
struct pp_frame_role pp_frame_role_read(const struct pp_object_reader *reader, uintptr_t code);
/* Returns whether a function should have the rule of this qualified name, and has none, or not all of it: it is in the
 * rule's file and not made by another function, as wrappers are, or it has that name and is in the rule's package. Its
 * locals, its name or its file differ then. For the flush thread. */
bool pp_frame_is_lost(const struct pp_object_reader *reader, uintptr_t code, const char *qualname, size_t length);

/* Reads a local variable of a frame. async-signal-safe. */
bool pp_frame_local_read(const struct pp_object_reader *reader, uintptr_t frame, unsigned number, uintptr_t *value);

#endif
