/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_sources.h"
#include "../base/message.h"
#include "../capture/frame_rules.h"
#include "python_modules.h"
#include <string.h>

#define BASES_MAX  8
#define CONSTS_MAX 64
#define NESTED     "<locals>."

static const struct known {
    enum pp_source_module source, module;
    const char *module_name, *function; /* its qualified name, as the frame rules have it */
} table[] = {
    {PP_MODULE_DJANGO, PP_MODULE_DJANGO, "django.core.handlers.base", "convert_exception_to_response.<locals>.inner"},
    {PP_MODULE_DJANGO, PP_MODULE_DJANGO_WSGI, "django.core.handlers.wsgi", "WSGIHandler.__call__"},
    {PP_MODULE_DJANGO, PP_MODULE_DJANGO_ASGI, "django.core.handlers.asgi", "ASGIHandler.handle"},
    {PP_MODULE_STARLETTE, PP_MODULE_STARLETTE, "starlette.routing", "Route.handle"},
    {PP_MODULE_STARLETTE, PP_MODULE_STARLETTE, "starlette.routing", "Mount.handle"},
    {PP_MODULE_STARLETTE, PP_MODULE_STARLETTE, "starlette.routing", "WebSocketRoute.handle"},
    {PP_MODULE_STARLETTE, PP_MODULE_STARLETTE_APPLICATIONS, "starlette.applications", "Starlette.__call__"},
    {PP_MODULE_STARLETTE, PP_MODULE_FASTAPI, "fastapi.routing", "APIRoute.handle"},
    {PP_MODULE_AIOHTTP, PP_MODULE_AIOHTTP_PROTOCOL, "aiohttp.web_protocol", "RequestHandler._handle_request"},
};

/* Finds the code of a function of Python's. One that has attributes was wrapped, or its code was replaced. */
static bool find_code(const struct pp_object_reader *reader, uintptr_t function_type, uintptr_t object, uintptr_t *code)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t type, dict, attributes = 0;
    return function_type && pp_object_type(reader, object, &type) && type == function_type &&
           pp_object_word(reader, object + layout->function.dict, &dict) &&
           (!dict || pp_object_word(reader, dict + layout->dict.ma_used, &attributes)) && !attributes &&
           pp_object_word(reader, object + layout->function.code, code);
}

/* Returns whether no function that is defined in this function is as it is known. */
static bool is_lost_within(const struct pp_object_reader *reader, uintptr_t code, const char *function)
{
    uintptr_t consts, item;
    size_t length = strlen(function);
    bool lost = pp_frame_is_lost(reader, code, function, length);
    if (!pp_object_word(reader, code + reader->python->layout.code.consts, &consts))
        return false;
    for (unsigned i = 0; i < CONSTS_MAX && pp_tuple_item(reader, consts, i, &item); i++) {
        if (pp_frame_role_read(reader, item).rule != PP_FRAME_ANY)
            return false;
        lost |= pp_frame_is_lost(reader, item, function, length);
    }
    return lost;
}

/* Returns whether the method that the class has, or inherits, is not as it is known. */
static bool is_lost_in_class(const struct pp_object_reader *reader, uintptr_t function_type, uintptr_t class,
                             const char *method, const char *function)
{
    uintptr_t dict, object, code;
    if (!pp_object_has_class(reader, class, PP_CLASS_TYPE))
        return false;
    for (unsigned i = 0; i < BASES_MAX && class; i++) {
        const struct pp_python_layout *layout = &reader->python->layout;
        if (!pp_object_word(reader, class + layout->type.tp_dict, &dict) ||
            !pp_object_word(reader, class + layout->type.tp_base, &class))
            return false;
        if (pp_name_find(reader, dict, method, &object))
            return find_code(reader, function_type, object, &code) &&
                   pp_frame_is_lost(reader, code, function, strlen(function));
    }
    return true;
}

static bool is_lost(const struct pp_object_reader *reader, uintptr_t function_type, uintptr_t module,
                    const char *function)
{
    char name[PP_NAME_MAX];
    uintptr_t object, code;
    const char *rest = strchr(function, '.') + 1;
    pp_format(name, (size_t)(rest - function), "%s", function); /* what is before the dot */
    if (!pp_name_find(reader, module, name, &object))
        return true;
    if (strncmp(rest, NESTED, sizeof NESTED - 1) == 0)
        return find_code(reader, function_type, object, &code) && is_lost_within(reader, code, function);
    return is_lost_in_class(reader, function_type, object, rest, function);
}

bool pp_frame_source_find(const struct pp_object_reader *reader, const uintptr_t *modules, enum pp_source_module module,
                          char remark[PP_FRAME_SOURCE_REMARK])
{
    uintptr_t type;
    bool found = false;
    const struct known *lost = NULL;
    *remark = 0;
    if (!modules[module] || !pp_name_find(reader, modules[PP_MODULE_TYPES], "FunctionType", &type))
        return true;
    for (const struct known *known = table; known < table + sizeof table / sizeof *table; known++) {
        if (known->source != module || !modules[known->module])
            continue;
        if (!is_lost(reader, type, modules[known->module], known->function))
            found = true;
        else if (!lost)
            lost = known;
    }
    if (lost)
        pp_format(remark, PP_FRAME_SOURCE_REMARK, "%s%s of %s is not as it is known", found ? "in part: " : "",
                  lost->function, lost->module_name);
    return found || !lost;
}
