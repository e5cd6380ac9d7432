/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the ids of the span in the record that a thread publishes in a thread-local variable, for readers within the
 * process (OpenTelemetry's OTEP 4947, "thread context"): ddtrace 4 and native libraries do so. The record says nothing
 * of asyncio tasks and greenlets: in a thread with an event loop or greenlets it may be that of another one, unless its
 * writer is known to follow them. */
#ifndef PP_CONTEXT_THREAD_CONTEXT_H
#define PP_CONTEXT_THREAD_CONTEXT_H

#include "context.h"

#define PP_THREAD_CONTEXT_SYMBOL "otel_thread_ctx_v1"

/* Finds out whether ddtrace, if that is the writer, follows tasks and greenlets: where it has patched asyncio and
 * gevent, and with tasks of CPython 3.14 and later. For the flush thread. */
void pp_thread_context_find(const struct pp_object_reader *reader, const uintptr_t *modules,
                            struct pp_thread_context_facts *facts);

/* Reads the ids of the thread's span; context->identity stays 0 if it has none. Without reader->state: of a thread that
 * runs no Python. async-signal-safe; needs what was read of the thread's task. */
void pp_thread_context_read(const struct pp_context_reader *reader, struct pp_context *context);

#endif
