/* SPDX-License-Identifier: Apache-2.0 */
/* Holds what is known of libraries that say what a sample belongs to, as data. A source is a row of pp_sources: by
 * which module it is there, where its reading begins, and by which steps the span or the endpoint is reached from
 * there. Spans are reached from a context variable, jobs and tests from a local variable of a function that is on the
 * stack, endpoints from either, or from the name of a task (tests/unit/test_sources.c refuses other rows).
 * context/walk_source.c takes the steps in the handler; labels/find_sources.c finds, in the flush thread, what they
 * need to know of classes and keys. Asyncio, trio, greenlets and Starlette's mounts are code in context/: no sequence
 * of steps describes them. */
#ifndef PP_FRAMEWORKS_SOURCES_H
#define PP_FRAMEWORKS_SOURCES_H

#include "functions.h"
#include <stdbool.h>

#define PP_MAX_AWAITERS 16

enum pp_context_kind {
    PP_CONTEXT_THREAD, /* the threading.Thread that runs, and its name */
    PP_CONTEXT_TASK,   /* the asyncio task, and its name */
    PP_CONTEXT_GREENLET,
    PP_CONTEXT_SPAWN, /* the file and, as its identity, the line where the greenlet was spawned */
    PP_CONTEXT_ENDPOINT,
    PP_CONTEXT_SPAN,
    PP_CONTEXT_JOB,     /* a unit of work that a queue or a scheduler runs: it takes the place of the task */
    PP_CONTEXT_TEST,    /* the test that pytest runs */
    PP_CONTEXT_LABELS,  /* the application's labels */
    PP_CONTEXT_AWAITER, /* the task that awaits the task; what awaits that is of the next kind, and so on */
    PP_CONTEXT_KINDS = PP_CONTEXT_AWAITER + PP_MAX_AWAITERS
};

/* A step leads from an object to the next. */
enum pp_step_kind {
    PP_STEP_END,
    PP_STEP_ATTRIBUTE, /* to an attribute of an instance; in __slots__, if the class of `of` has it there */
    PP_STEP_SLOT,      /* to an attribute that the class of `of` has in __slots__: else the source is not found */
    PP_STEP_INSTANCE,  /* to the object itself, if it is an instance of the class of `of` */
    PP_STEP_ITSELF,    /* to the object itself */
    PP_STEP_CLASS,     /* to the name of its class, of a class that Python's code has made */
    PP_STEP_METHOD,    /* to the function of a method; `of`: the class of methods */
    PP_STEP_FUNCTION,  /* to the name of a function that no other has made; `of`: the class of functions */
    PP_STEP_ITEM,      /* to the item `number` of a tuple */
    PP_STEP_ENTRY,     /* to an entry of a small dict, whose key is the object `of` */
    PP_STEP_NAMED,     /* to an entry of a dict of str, whose key is `name` */
};

/* What it means that a step of `object` leads nowhere. The other ways have no use for this: of a text the next
 * alternative counts, an id that is not there is unread, or made later (numbered_late). */
enum pp_missing {
    PP_MISSING_UNREAD, /* it is not known what the sample belongs to: the objects are not as they should be */
    PP_MISSING_NONE,   /* the sample belongs to nothing of the source: no request, not matched yet … */
    PP_MISSING_STAYS,  /* the object itself is what is sought; only of PP_STEP_SLOT and PP_STEP_METHOD */
};

struct pp_step {
    enum pp_step_kind kind;
    enum pp_missing missing;
    const char *of;   /* "module:name": a class, or a key */
    const char *name; /* of an attribute or an entry */
    unsigned number;
};

/* The ways of a source: to the object that the sample belongs to, from there to what is to be known of it. */
struct pp_ways {
    struct pp_step object[4];
    struct pp_step text[3];     /* each one alone: to a str (bytes for labels); the first that has characters counts */
    struct pp_step ids[1];      /* of spans only, as the following: to what has the ids, if the object has not */
    struct pp_step trace_id[1]; /* from there, to an int or a str of hexadecimal digits */
    struct pp_step span_id[1];
    struct pp_step from_start[2]; /* from where the reading begins: to "highest" or "off", whether the trace is kept */
};
#define PP_WAY_STEPS (sizeof(struct pp_ways) / sizeof(struct pp_step))

struct pp_source {
    enum pp_context_kind kind;
    const char *title;     /* what `info` calls it; NULL: it is not named */
    const char *module;    /* the source is there when this is imported */
    const char *version;   /* "package:attribute" that tells it; NULL: none that is worth naming */
    const char *variable;  /* "module:name": a context variable, or NULL; after a dot the name of an attribute */
    const char *not_found; /* why the variable, a class or a key may not be there, in words for people */
    struct pp_ways ways;
    bool same_name;       /* contexts of the same text are one: what the way leads to is made again for each request */
    bool numbered_late;   /* a span has no ids before it is first asked for them */
    char before;          /* this character comes before the text; 0: none */
    struct pp_ascii task; /* the task that serves a request has this before the endpoint in its name, and one character
                             after it; empty: it says nothing */
    struct pp_function functions[6]; /* whose frames tell it */
};

/* The rows that code refers to by name. All others follow, in the order in which they are asked. */
enum pp_named_source {
    PP_SOURCE_SERVED, /* the endpoint of requests that the Python module counts */
    PP_SOURCE_LABELS, /* the program's labels */
    PP_SOURCE_OTHERS,
    PP_SOURCE_STARLETTE = PP_SOURCE_OTHERS, /* its only step is to an instance of Mount */
    PP_SOURCE_GRPC_AIO,                     /* its tasks tell it */
};

extern const struct pp_source pp_sources[];
extern const unsigned pp_source_count;
#define PP_SOURCES_MAX 32 /* a bit each in context/facts.h, and places that are copied: raise it with the rows */

#endif
