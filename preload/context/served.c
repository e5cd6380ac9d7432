/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"
#include "sources.h"
#include "values.h"

bool pp_served_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_served_facts *facts)
{
    uintptr_t variable, request, steps, spawned;
    if (pp_name_find(reader, modules[PP_MODULE_REQUESTS], "pyprof_steps", &steps))
        pp_member_find(reader, steps, "coroutine", &facts->steps);
    if (pp_name_find(reader, modules[PP_MODULE_REQUESTS], "Spawned", &spawned))
        pp_member_find(reader, spawned, "request", &facts->spawned);
    return pp_name_find(reader, modules[PP_MODULE_LABELS], "_served", &variable) &&
           pp_name_find(reader, modules[PP_MODULE_REQUESTS], "Request", &request) &&
           pp_member_find(reader, request, "own", &facts->own) &&
           pp_member_find(reader, request, "name", &facts->name) &&
           pp_member_find(reader, request, "endpoint", &facts->endpoint) &&
           pp_context_var_find(reader, variable, &facts->variable);
}

bool pp_served_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context)
{
    const struct pp_served_facts *facts = &reader->facts->served;
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_member *const names[] = {&facts->own, &facts->name, &facts->endpoint};
    uintptr_t request, name;
    if (!pp_context_var_read(objects, vars, &facts->variable, &request))
        return false;
    if (request) /* that of a request that has ended has none */
        pp_member_read(objects, request, &facts->spawned, &request);
    for (unsigned i = 0; request && i < sizeof names / sizeof *names; i++)
        if (pp_member_read(objects, request, names[i], &name) &&
            pp_str_open(objects, name, PP_CONTEXT_TEXT_MAX, &context->text) && context->text.record.bytes) {
            context->identity = PP_SAME_NAME; /* of an endpoint; requests are many */
            return true;
        }
    return true;
}
