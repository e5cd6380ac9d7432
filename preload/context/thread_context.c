/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_context.h"
#include "../capture/safe_read.h"
#include "../capture/tls_word.h"
#include "asyncio.h"
#include "greenlet.h"
#include "names.h"
#include "recall.h"
#include "values.h"
#include <stddef.h>

/* The record is as the OTEP has it: packed, ids in the order of W3C Trace Context. Attributes follow. */
struct record {
    uint8_t trace_id[16], span_id[8];
    uint8_t valid; /* 1; other values: the thread is writing it */
    uint8_t flags, attribute_bytes[2];
};

static bool is_true(const struct pp_object_reader *reader, uintptr_t module, const char *name)
{
    uintptr_t object;
    uint64_t value[2];
    return module && pp_name_find(reader, module, name, &object) && pp_int_read(reader, object, value) && value[0] == 1;
}

void pp_thread_context_find(const struct pp_object_reader *reader, const uintptr_t *modules,
                            struct pp_thread_context_facts *facts)
{
    /* with watchers ddtrace is called at every change of the context */
    facts->follows_tasks = reader->python->layout.context_watchers ||
                           is_true(reader, modules[PP_MODULE_ASYNCIO_PACKAGE], "_datadog_patch");
    facts->follows_greenlets = is_true(reader, modules[PP_MODULE_GEVENT], "__datadog_patch");
}

/* Whether the record may be that of another task or greenlet, the last one that wrote it. async-signal-safe. */
static bool may_be_another(const struct pp_context_reader *reader)
{
    const struct pp_thread_context_facts *facts = &reader->facts->thread_context;
    struct pp_slot_thread *thread = &reader->slot->thread;
    if (!reader->state)
        return false;
    thread->ran_tasks |= thread->contexts[PP_CONTEXT_TASK] != 0;
    return (!facts->follows_tasks && (thread->ran_tasks || pp_asyncio_runs(reader))) ||
           (!facts->follows_greenlets && pp_greenlets_used(reader));
}

/* async-signal-safe. */
static uint64_t number_of(const uint8_t bytes[8])
{
    uint64_t number = 0;
    for (unsigned i = 0; i < sizeof number; i++)
        number = number << 8 | bytes[i];
    return number;
}

void pp_thread_context_read(const struct pp_context_reader *reader, struct pp_context *context)
{
    static const char unnamed[] = PP_SPAN_UNNAMED, unknown[] = PP_SPAN_UNKNOWN;
    struct record record;
    uintptr_t at;
    pp_recall_refuse(reader);
    /* The library may have been unloaded since its word was found: the block may be another's, or be freed. */
    if (!pp_tls_copy(&reader->facts->thread_context.word, reader->slot->thread.thread_pointer, &at) ||
        at < PP_LOWEST_ADDRESS || !pp_safe_read(reader->objects.pid, &record, at, sizeof record) || record.valid != 1)
        return;
    if (may_be_another(reader)) {
        context->identity = PP_SAME_NAME;
        context->no_id = true;
        context->text = (struct pp_str){(uintptr_t)unknown, {sizeof unknown - 1, 1, 0, 0}};
        return;
    }
    context->trace_id[1] = number_of(record.trace_id);
    context->trace_id[0] = number_of(record.trace_id + 8);
    context->identity = number_of(record.span_id);
    context->text = (struct pp_str){(uintptr_t)unnamed, {sizeof unnamed - 1, 1, 0, 0}};
}
