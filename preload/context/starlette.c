/* SPDX-License-Identifier: Apache-2.0 */
#include "starlette.h"
#include "values.h"

/* async-signal-safe. */
static bool read_text(const struct pp_object_reader *reader, uintptr_t object, struct pp_attribute *learnt,
                      struct pp_str *text)
{
    uintptr_t value;
    return pp_attribute_read(reader, object, "path", learnt, &value) &&
           pp_str_open(reader, value, PP_CONTEXT_TEXT_MAX, text);
}

/* async-signal-safe. */
static bool is_of(const struct pp_context_reader *reader, uintptr_t included, uintptr_t route)
{
    uintptr_t original;
    return pp_attribute_read(&reader->objects, included, "original_route",
                             &reader->slot->thread.learnt.fastapi_original, &original) &&
           original == route;
}

bool pp_starlette_path_read(const struct pp_context_reader *reader, uintptr_t route, uintptr_t included,
                            struct pp_str *path)
{
    struct pp_learnt_attributes *learnt = &reader->slot->thread.learnt;
    return is_of(reader, included, route) ? read_text(&reader->objects, included, &learnt->fastapi_path, path)
                                          : read_text(&reader->objects, route, &learnt->route_path, path);
}

/* Reads what has the whole path of the route; *included is 0 if the route has it. Returns false between the match of a
 * route in an included router and that. async-signal-safe. */
static bool read_included(const struct pp_context_reader *reader, uintptr_t scope, uintptr_t route, uintptr_t *included)
{
    const struct pp_object_reader *objects = &reader->objects;
    struct pp_learnt_attributes *learnt = &reader->slot->thread.learnt;
    uintptr_t fastapi, router;
    *included = 0;
    if (!pp_dict_get_named(objects, scope, "fastapi", &learnt->scope_fastapi, &fastapi))
        return true;
    if (pp_dict_get_named(objects, fastapi, "effective_route_context", &learnt->fastapi_context, included) &&
        is_of(reader, *included, route))
        return true;
    *included = 0;
    return !pp_dict_get_named(objects, fastapi, "included_router", &learnt->fastapi_router, &router);
}

/* Reads an entry of a scope; *value is 0 if it has none. Returns false if that is not known: another thread may be
 * changing the scope, whose type is then not found either. async-signal-safe. */
static bool read_entry(const struct pp_context_reader *reader, uintptr_t scope, const char *name,
                       struct pp_attribute *learnt, uintptr_t *value)
{
    const struct pp_object_reader *objects = &reader->objects;
    uintptr_t type;
    if (pp_dict_get_named(objects, scope, name, learnt, value))
        return true;
    if (!pp_dict_get_named(objects, scope, "type", &reader->slot->thread.learnt.scope_type, &type))
        return false;
    if (!pp_dict_get_named(objects, scope, name, learnt, value))
        *value = 0;
    return true;
}

/* Reads what mounts have added to the path of the scope's application: what the client has asked for, not the path with
 * the names of parameters. Returns false if it is not known. async-signal-safe. */
static bool read_mounts(const struct pp_context_reader *reader, uintptr_t scope, struct pp_str *mounts)
{
    const struct pp_object_reader *objects = &reader->objects;
    struct pp_learnt_attributes *learnt = &reader->slot->thread.learnt;
    struct pp_str own;
    uintptr_t root;
    *mounts = (struct pp_str){0};
    if (!read_entry(reader, scope, "root_path", &learnt->scope_root, &root) ||
        (root && !pp_str_open(objects, root, PP_CONTEXT_TEXT_MAX, mounts)))
        return false;
    if (!mounts->record.bytes)
        return true; /* without asking for a key that is not there, which is compared with each that is */
    /* the first mount puts the server's own there */
    if (!read_entry(reader, scope, "app_root_path", &learnt->scope_app_root, &root))
        return false;
    if (!root) {
        mounts->record.bytes = 0;
        return true;
    }
    if (!pp_str_open(objects, root, PP_CONTEXT_TEXT_MAX, &own) || mounts->record.cut ||
        mounts->record.bytes < own.record.bytes || (own.record.bytes && own.record.width != mounts->record.width))
        return false;
    mounts->data += own.record.bytes;
    mounts->record.bytes -= own.record.bytes;
    return true;
}

/* Returns whether the path begins with this part, or is this part. async-signal-safe. */
static bool begins_with(const struct pp_context_reader *reader, const struct pp_str *path, const struct pp_str *part)
{
    uint8_t whole[PP_CONTEXT_TEXT_MAX], first[PP_CONTEXT_TEXT_MAX];
    uint32_t width = path->record.width, of_part = part->record.width;
    if (!width || !of_part || !part->record.bytes ||
        !pp_object_copy(&reader->objects, whole, path->data, path->record.bytes) ||
        !pp_object_copy(&reader->objects, first, part->data, part->record.bytes))
        return false;
    uint32_t length = path->record.bytes / width, count = part->record.bytes / of_part, i = 0;
    while (i < count && i < length && pp_character(whole, i, width) == pp_character(first, i, of_part))
        i++;
    return i == count && (i == length || pp_character(whole, i, width) == '/');
}

bool pp_starlette_is_mounted(const struct pp_context_reader *reader, uintptr_t scope, const struct pp_str *mount)
{
    struct pp_str mounts;
    if (!pp_object_has_class(&reader->objects, scope, PP_CLASS_DICT))
        return false; /* a function of that name and file that has another scope */
    if (!read_mounts(reader, scope, &mounts))
        return true;
    if (!mounts.record.bytes)
        return false;
    return !mount || !begins_with(reader, &mounts, mount);
}

/* Whether the application of the scope has found the route: it is mounted at this path. async-signal-safe. */
static bool is_mounted_at(const struct pp_context_reader *reader, uintptr_t scope, const struct pp_str *path)
{
    struct pp_str mounts;
    if (!read_mounts(reader, scope, &mounts) || !mounts.record.bytes != !path->record.bytes)
        return false;
    return !path->record.bytes || (path->data == (uintptr_t)reader->slot->scratch->endpoint &&
                                   begins_with(reader, path, &mounts) && begins_with(reader, &mounts, path));
}

bool pp_starlette_scope_read(const struct pp_context_reader *reader, uintptr_t scope, const struct pp_str *mounted,
                             struct pp_context *context)
{
    const struct pp_object_reader *objects = &reader->objects;
    struct pp_learnt_attributes *learnt = &reader->slot->thread.learnt;
    uintptr_t type, route, included;
    if (!pp_dict_get_named(objects, scope, "type", &learnt->scope_type, &type) ||
        !(pp_str_is(objects, type, "http") || pp_str_is(objects, type, "websocket")))
        return false;
    if (is_mounted_at(reader, scope, mounted) &&
        pp_dict_get_named(objects, scope, "route", &learnt->scope_route, &route) &&
        read_included(reader, scope, route, &included) &&
        pp_starlette_path_read(reader, route, included, &context->text))
        context->identity = route;
    return true;
}
