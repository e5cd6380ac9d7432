/* What the flush thread has found out about the sources of contexts: addresses of types and keys. What is there may
 * have been freed since, so handlers compare these addresses, and read there through safe copies only. The facts are of
 * one interpreter, the first in which a source was found; a struct that was published is never changed nor freed. */
#ifndef PP_CONTEXT_FACTS_H
#define PP_CONTEXT_FACTS_H

#include "../capture/python_layout.h"
#include "context_vars.h"
#include "values.h"

/* asyncio.h */
struct pp_asyncio_facts {
    uintptr_t task_type;     /* _asyncio.Task; 0: not found */
    uintptr_t running_tasks; /* the dict {loop: task} of all threads, 3.8 to 3.13 */
};

/* awaiters.h: types of callbacks */
struct pp_awaiters_facts {
    uintptr_t future_type, function_type, builtin_type, method_type;
    uintptr_t partial_type; /* 0: these were not found */
};

/* sources.h */
struct pp_opentelemetry_facts {
    struct pp_context_var variable; /* not found: the source is not there; in all of these */
    uintptr_t span_key;             /* of the current span among the variable's values */
};
struct pp_ddtrace_facts {
    struct pp_context_var variable;
    struct pp_slot_attribute name, trace_id, span_id;
};
struct pp_sentry_facts {
    struct pp_context_var variable;
    struct pp_slot_attribute span, trace_id, span_id, description, operation, transaction_name;
};
struct pp_flask_facts {
    struct pp_context_var variable;
};
struct pp_labels_facts {
    struct pp_context_var variable;
};

/* Modules by whose dicts the sources are found. */
enum pp_source_module {
    PP_MODULE_ASYNCIO,
    PP_MODULE_TYPES,
    PP_MODULE_FUNCTOOLS,
    PP_MODULE_OPENTELEMETRY,
    PP_MODULE_OPENTELEMETRY_SPAN,
    PP_MODULE_DDTRACE,
    PP_MODULE_DDTRACE_SPAN,
    PP_MODULE_SENTRY,
    PP_MODULE_SENTRY_SPAN,
    PP_MODULE_FLASK,
    PP_MODULE_LABELS,
    PP_SOURCE_MODULES
};

struct pp_context_facts {
    const struct pp_python *python;
    uintptr_t interpreter_state;
    struct pp_asyncio_facts asyncio;
    struct pp_awaiters_facts awaiters;
    bool variables; /* one of these was found: */
    struct pp_opentelemetry_facts opentelemetry;
    struct pp_ddtrace_facts ddtrace;
    struct pp_sentry_facts sentry;
    struct pp_flask_facts flask;
    struct pp_labels_facts labels;
};

#endif
