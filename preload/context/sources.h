/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what libraries and the program itself keep in context variables: the span that is being worked on, the endpoint
 * that is being served, labels. Each source has its own file: pp_*_find learns, by the dicts of the library's modules,
 * where its things are (false: not there, or *why not where they are expected: a literal; flush thread), and pp_*_read
 * reads what the thread's context has (false: it could not be read; async-signal-safe). vars: of pp_context_vars_open.
 */
#ifndef PP_CONTEXT_SOURCES_H
#define PP_CONTEXT_SOURCES_H

#include "context.h"

/* Reads the current span of opentelemetry-api: with its name, if the SDK records it. */
bool pp_opentelemetry_find(const struct pp_object_reader *reader, const uintptr_t *modules,
                           struct pp_opentelemetry_facts *facts, const char **why);
bool pp_opentelemetry_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context);

/* Reads the current span of ddtrace up to 3.x. */
bool pp_ddtrace_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_ddtrace_facts *facts,
                     const char **why);
bool pp_ddtrace_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context);

/* Reads the current span of sentry_sdk 2.x. */
bool pp_sentry_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_sentry_facts *facts,
                    const char **why);
bool pp_sentry_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context);

/* Reads the rule of the request's URL in Flask 2.2 and later. */
bool pp_flask_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_flask_facts *facts,
                   const char **why);
bool pp_flask_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context);

/* Reads the endpoint of the requests that the Python module counts, once the framework or the program has named it.
 * Tasks that a request has made without awaiting them have it, too. */
bool pp_served_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_served_facts *facts);
bool pp_served_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context);

/* Reads the application's labels, "key=value;key2=value2" in a bytes object. */
bool pp_labels_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_labels_facts *facts,
                    const char **why);
/* Reads the labels that the thread has set by pyprof_labels. Returns false if it never had any. */
bool pp_thread_labels_read(const struct pp_context_reader *reader, struct pp_context *context);
bool pp_labels_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context);

#endif
