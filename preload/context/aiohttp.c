/* SPDX-License-Identifier: Apache-2.0 */
#include "aiohttp.h"
#include "names.h"

void pp_aiohttp_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_aiohttp_facts *facts)
{
    uintptr_t match;
    if (pp_name_find(reader, modules[PP_MODULE_AIOHTTP], "UrlMappingMatchInfo", &match))
        pp_member_find(reader, match, "_route", &facts->route);
}

/* async-signal-safe. */
static bool read_text(const struct pp_object_reader *reader, uintptr_t resource, const char *name,
                      struct pp_attribute *learnt, struct pp_str *text)
{
    uintptr_t value;
    return pp_attribute_read(reader, resource, name, learnt, &value) &&
           pp_str_open(reader, value, PP_CONTEXT_TEXT_MAX, text);
}

void pp_aiohttp_read(const struct pp_context_reader *reader, uintptr_t request, struct pp_context *context)
{
    const struct pp_object_reader *objects = &reader->objects;
    struct pp_learnt_attributes *learnt = &reader->slot->thread.learnt;
    uintptr_t match, route, resource;
    if (!pp_attribute_read(objects, request, "_match_info", &learnt->aiohttp_match, &match) ||
        !((reader->facts && reader->facts->aiohttp.route.type &&
           pp_member_read(objects, match, &reader->facts->aiohttp.route, &route)) ||
          pp_attribute_read(objects, match, "_route", &learnt->aiohttp_route, &route)) ||
        !pp_attribute_read(objects, route, "_resource", &learnt->aiohttp_resource, &resource))
        return;
    /* with parameters, without, and of static files; those of an application within another one begin with its prefix
     */
    if (read_text(objects, resource, "_formatter", &learnt->aiohttp_formatter, &context->text) ||
        read_text(objects, resource, "_path", &learnt->aiohttp_path, &context->text) ||
        read_text(objects, resource, "_prefix", &learnt->aiohttp_prefix, &context->text))
        context->identity = resource;
}
