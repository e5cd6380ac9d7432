/* SPDX-License-Identifier: Apache-2.0 */
#include "sources.h"
#include "values.h"

/* Items of a SpanContext */
#define TRACE_ID 0
#define SPAN_ID  1

bool pp_opentelemetry_find(const struct pp_object_reader *reader, const uintptr_t *modules,
                           struct pp_opentelemetry_facts *facts)
{
    struct pp_attribute learnt = {0};
    uintptr_t runtime, variable;
    return pp_name_find(reader, modules[PP_MODULE_OPENTELEMETRY], "_RUNTIME_CONTEXT", &runtime) &&
           pp_name_find(reader, modules[PP_MODULE_OPENTELEMETRY_SPAN], "_SPAN_KEY", &facts->span_key) &&
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
        !pp_tuple_item(&reader->objects, ids, SPAN_ID, &own) ||
        !pp_int_read(&reader->objects, trace, context->trace_id) || !pp_int_read(&reader->objects, own, number))
        return false;
    context->identity = number[0];
    return true;
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
    /* another process's span has no name, nor has a span that is not recorded */
    return !pp_attribute_read(&reader->objects, span, "_name", &reader->slot->thread.learnt.span_name, &name) ||
           pp_str_open(&reader->objects, name, PP_CONTEXT_TEXT_MAX, &context->text);
}
