/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"
#include "sources.h"
#include "values.h"

bool pp_flask_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_flask_facts *facts,
                   const char **why)
{
    uintptr_t variable;
    *why = "flask.globals has no context variable _cv_request, as since 2.2";
    return pp_name_find(reader, modules[PP_MODULE_FLASK], "_cv_request", &variable) &&
           pp_context_var_find(reader, variable, &facts->variable);
}

bool pp_flask_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context)
{
    struct pp_learnt_attributes *learnt = &reader->slot->thread.learnt;
    uintptr_t held, request, rule, text;
    if (!pp_context_var_read(&reader->objects, vars, &reader->facts->flask.variable, &held))
        return false;
    if (!held)
        return true;
    if (!pp_attribute_read(&reader->objects, held, "request", &learnt->flask_request, &request))
        return false;
    /* a request that has not been routed yet, or cannot be, has no rule */
    if (!pp_attribute_read(&reader->objects, request, "url_rule", &learnt->flask_url_rule, &rule) ||
        !pp_attribute_read(&reader->objects, rule, "rule", &learnt->flask_rule, &text) ||
        !pp_str_open(&reader->objects, text, PP_CONTEXT_TEXT_MAX, &context->text))
        return true;
    context->identity = rule;
    return true;
}
