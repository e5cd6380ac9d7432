/* SPDX-License-Identifier: Apache-2.0 */
#include "../capture/capture.h"
#include "names.h"
#include "sources.h"
#include "values.h"

/* Items of a SpanContext */
#define TRACE_ID 0
#define SPAN_ID  1

#define VOLUME "splunk.trace.snapshot.volume"

bool pp_opentelemetry_find(const struct pp_object_reader *reader, const uintptr_t *modules,
                           struct pp_opentelemetry_facts *facts, const char **why)
{
    struct pp_attribute learnt = {0};
    struct pp_str key;
    uintptr_t runtime, variable;
    if (!pp_name_find(reader, modules[PP_MODULE_OPENTELEMETRY_BAGGAGE], "_BAGGAGE_KEY", &facts->baggage_key))
        facts->baggage_key = 0;
    *why = "opentelemetry.trace.propagation has no _SPAN_KEY";
    if (!pp_name_find(reader, modules[PP_MODULE_OPENTELEMETRY_SPAN], "_SPAN_KEY", &facts->span_key) ||
        !pp_str_open(reader, facts->span_key, PP_CONTEXT_TEXT_MAX, &key))
        return false;
    *why = "its context is not used yet, or OTEL_PYTHON_CONTEXT selects another class than contextvars_context";
    return pp_name_find(reader, modules[PP_MODULE_OPENTELEMETRY], "_RUNTIME_CONTEXT", &runtime) &&
           pp_attribute_read(reader, runtime, "_current_context", &learnt, &variable) &&
           pp_context_var_find(reader, variable, &facts->variable);
}

/* Reads the ids of a span, which its SpanContext, a tuple, has. async-signal-safe. */
static bool read_ids(const struct pp_context_reader *reader, uintptr_t span, struct pp_context *context)
{
    uintptr_t ids, trace, own;
    uint64_t number[2];
    if (!pp_attribute_read(&reader->objects, span, "_context", &reader->slot->thread.learnt.span_context, &ids) ||
        !pp_tuple_item(&reader->objects, ids, TRACE_ID, &trace) ||
        !pp_int_read(&reader->objects, trace, context->trace_id))
        return false;
    context->identity = context->trace_id[0] | context->trace_id[1];
    if (reader->trace_only)
        return true;
    if (!pp_tuple_item(&reader->objects, ids, SPAN_ID, &own) || !pp_int_read(&reader->objects, own, number))
        return false;
    context->identity = number[0];
    return true;
}

/* Reads what the baggage says of the trace, which a service further up may have chosen. async-signal-safe. */
static enum pp_trace_choice read_choice(const struct pp_context_reader *reader, uintptr_t values)
{
    struct pp_attribute anywhere = {0}; /* the keys come from requests: what was learnt of a key is of no use */
    uintptr_t baggage, volume, key = reader->facts->opentelemetry.baggage_key;
    if (!key || !pp_small_dict_get(&reader->objects, values, key, &baggage) || !baggage ||
        !pp_dict_get_named(&reader->objects, baggage, VOLUME, &anywhere, &volume))
        return PP_TRACE_BY_ID;
    return pp_str_is(&reader->objects, volume, "highest") ? PP_TRACE_KEPT
           : pp_str_is(&reader->objects, volume, "off")   ? PP_TRACE_LEFT
                                                          : PP_TRACE_BY_ID;
}

bool pp_opentelemetry_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context)
{
    const struct pp_opentelemetry_facts *facts = &reader->facts->opentelemetry;
    uintptr_t values, span, name;
    if (!pp_context_var_read(&reader->objects, vars, &facts->variable, &values) ||
        (values && !pp_small_dict_get(&reader->objects, values, facts->span_key, &span)))
        return false;
    if (!values || !span)
        return true;
    if (!read_ids(reader, span, context))
        return false;
    if (pp_traces_kept())
        context->choice = read_choice(reader, values);
    /* another process's span has no name, nor has a span that is not recorded */
    return reader->trace_only ||
           !pp_attribute_read(&reader->objects, span, "_name", &reader->slot->thread.learnt.span_name, &name) ||
           pp_str_open(&reader->objects, name, PP_CONTEXT_TEXT_MAX, &context->text);
}
