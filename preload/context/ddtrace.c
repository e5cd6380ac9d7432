/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"
#include "sources.h"
#include "values.h"

bool pp_ddtrace_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_ddtrace_facts *facts,
                     const char **why)
{
    uintptr_t variable, type;
    *why = "its spans are not the objects of Python that they are up to 3.x";
    return pp_name_find(reader, modules[PP_MODULE_DDTRACE], "_DD_CONTEXTVAR", &variable) &&
           pp_name_find(reader, modules[PP_MODULE_DDTRACE_SPAN], "Span", &type) &&
           pp_member_find(reader, type, "name", &facts->name) &&
           pp_member_find(reader, type, "trace_id", &facts->trace_id) &&
           pp_member_find(reader, type, "span_id", &facts->span_id) &&
           pp_context_var_find(reader, variable, &facts->variable);
}

bool pp_ddtrace_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_ddtrace_facts *facts = &reader->facts->ddtrace;
    uintptr_t span, name, trace, own;
    uint64_t number[2];
    if (!pp_context_var_read(objects, vars, &facts->variable, &span))
        return false;
    /* None, or the ids of another process's span */
    if (!span || !pp_object_is(objects, span, facts->name.type))
        return true;
    if (!pp_member_read(objects, span, &facts->trace_id, &trace) || !pp_int_read(objects, trace, context->trace_id) ||
        !pp_member_read(objects, span, &facts->span_id, &own) || !pp_int_read(objects, own, number) ||
        !pp_member_read(objects, span, &facts->name, &name))
        return false;
    context->identity = number[0];
    return reader->trace_only || pp_str_open(objects, name, PP_CONTEXT_TEXT_MAX, &context->text);
}
