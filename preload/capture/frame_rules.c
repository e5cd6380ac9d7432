/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_rules.h"
#include <string.h>

#define NAME_MAX 64 /* longer names have no rule */
#define FILE_MAX 64 /* of the end of a path */

#define LOCALS_MAX 64 /* that are searched */

/* async-signal-safe. */
static bool ends_with(const struct pp_record_text *text, const uint8_t *characters, const struct pp_ascii *end)
{
    return text->width == 1 && !text->cut && text->bytes >= end->length &&
           memcmp(characters + text->bytes - end->length, end->characters, end->length) == 0;
}

/* A function as its code object describes it. */
struct function {
    bool unqualified; /* its name is without the class and the function around it */
    struct pp_record_text name, file;
    const uint8_t *name_characters, *file_characters;
};

uint8_t pp_frame_local_find(const struct pp_object_reader *reader, uintptr_t code, const char *name)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    const unsigned tuples[] = {layout->code.local_names, layout->code.co_cellvars, layout->code.co_freevars};
    uintptr_t names, item;
    uint8_t number = 0, found = PP_NO_LOCAL;
    for (unsigned i = 0; name && i < (layout->code.co_cellvars ? 3 : 1); i++) {
        if (!pp_object_word(reader, code + tuples[i], &names))
            break;
        for (unsigned at = 0; number < LOCALS_MAX && pp_tuple_item(reader, names, at, &item); at++, number++)
            if (pp_str_is(reader, item, name))
                found = number;
    }
    return found;
}

/* async-signal-safe. */
static bool is_named(const struct function *function, const struct pp_ascii *qualname)
{
    uint32_t bytes = function->name.bytes, before = qualname->length - bytes;
    if (bytes > qualname->length || (!function->unqualified && before) ||
        (before && qualname->characters[before - 1] != '.'))
        return false;
    const struct pp_ascii name = {qualname->characters + before, bytes};
    return ends_with(&function->name, function->name_characters, &name);
}

/* async-signal-safe. */
static bool is_in(const struct function *function, const struct pp_ascii *file)
{
    uint32_t before = function->file.bytes - file->length;
    return ends_with(&function->file, function->file_characters, file) &&
           (before == 0 || function->file_characters[before - 1] == '/');
}

/* Returns what the function is by one that is known; PP_FRAME_ANY if it is another one. source: the number of the row
 * that the known function is of. async-signal-safe. */
static struct pp_frame_role role_by(const struct function *function, const struct pp_function *known, unsigned source,
                                    const struct pp_object_reader *reader, uintptr_t code)
{
    struct pp_frame_role role = {PP_FRAME_ANY, PP_NO_LOCAL, PP_NO_LOCAL};
    if (!is_named(function, &known->qualname) || !is_in(function, &known->file))
        return role;
    uint8_t local = pp_frame_local_find(reader, code, known->local);
    /* handle(self, scope, ...): context/endpoint.c reads what follows the route */
    bool has_scope = known->rule >= PP_FRAME_ROUTE && known->rule <= PP_FRAME_MOUNT;
    if ((has_scope && pp_frame_local_find(reader, code, "scope") != local + 1) ||
        (known->local && local == PP_NO_LOCAL))
        return role;
    role.rule = (uint8_t)known->rule;
    role.local = local;
    bool of_row = known->rule == PP_FRAME_SOURCE || known->rule == PP_FRAME_JOB;
    role.second = of_row ? (uint8_t)source : pp_frame_local_find(reader, code, known->second);
    return role;
}

/* async-signal-safe. */
static struct pp_frame_role role_of(const struct function *function, const struct pp_object_reader *reader,
                                    uintptr_t code)
{
    struct pp_frame_role role = {PP_FRAME_ANY, PP_NO_LOCAL, PP_NO_LOCAL};
    for (const struct pp_function *known = pp_functions; known->rule && !role.rule; known++)
        role = role_by(function, known, 0, reader, code);
    for (unsigned source = 0; source < pp_source_count && !role.rule; source++)
        for (const struct pp_function *known = pp_sources[source].functions; known->rule && !role.rule; known++)
            role = role_by(function, known, source, reader, code);
    return role;
}

struct pp_frame_role pp_frame_role_of(const struct pp_record_code *record, const struct pp_object_reader *reader,
                                      uintptr_t code)
{
    const uint8_t *qualname = (const uint8_t *)(record + 1);
    const struct function function = {reader->python->layout.code.unqualified, record->qualname, record->filename,
                                      qualname, qualname + record->qualname.bytes};
    return role_of(&function, reader, code);
}

/* The characters of a function's names. */
struct characters {
    uint8_t name[NAME_MAX], file[FILE_MAX];
};

/* Reads what may be no code object at all. async-signal-safe. */
static bool read_function(const struct pp_object_reader *reader, uintptr_t code, struct characters *characters,
                          struct function *function)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t type, object;
    struct pp_str name, file;
    if (!pp_object_type(reader, code, &type) || type != reader->python->code_type ||
        !pp_object_word(reader, code + layout->code.qualname, &object) ||
        !pp_str_open(reader, object, NAME_MAX, &name) || name.record.cut ||
        !pp_object_copy(reader, characters->name, name.data, name.record.bytes) ||
        !pp_object_word(reader, code + layout->code.filename, &object) ||
        !pp_str_open(reader, object, UINT32_MAX, &file))
        return false;
    /* the end of the path says it */
    uint32_t skipped = file.record.bytes > FILE_MAX ? file.record.bytes - FILE_MAX : 0;
    file.record.bytes -= skipped;
    *function =
        (struct function){layout->code.unqualified, name.record, file.record, characters->name, characters->file};
    return pp_object_copy(reader, characters->file, file.data + skipped, file.record.bytes);
}

struct pp_frame_role pp_frame_role_read(const struct pp_object_reader *reader, uintptr_t code)
{
    struct characters characters;
    struct function function;
    if (!read_function(reader, code, &characters, &function))
        return (struct pp_frame_role){PP_FRAME_ANY, PP_NO_LOCAL, PP_NO_LOCAL};
    return role_of(&function, reader, code);
}

/* Whether the function is in a directory that has the name of the file's first one; a file without one has none. */
static bool is_in_package(const struct function *function, const struct pp_ascii *file)
{
    uint32_t length = 0; /* with the slash */
    while (length < file->length && (!length || file->characters[length - 1] != '/'))
        length++;
    for (uint32_t at = 1; length < file->length && at + length <= function->file.bytes; at++)
        if (function->file_characters[at - 1] == '/' &&
            memcmp(function->file_characters + at, file->characters, length) == 0)
            return true;
    return false;
}

bool pp_frame_is_lost(const struct pp_object_reader *reader, uintptr_t code, const struct pp_function *known)
{
    struct characters characters;
    struct function function;
    uint32_t flags;
    if (!read_function(reader, code, &characters, &function) ||
        !pp_object_copy(reader, &flags, code + reader->python->layout.code.flags, sizeof flags))
        return false;
    struct pp_frame_role role = role_of(&function, reader, code);
    if (role.rule != PP_FRAME_ANY)
        return role.rule == known->rule && known->second && role.second == PP_NO_LOCAL;
    if (is_in(&function, &known->file))
        return !(flags & PP_CO_NESTED) || is_named(&function, &known->qualname);
    return !function.unqualified && is_named(&function, &known->qualname) && is_in_package(&function, &known->file);
}

bool pp_frame_local_read(const struct pp_object_reader *reader, uintptr_t frame, unsigned number, uintptr_t *value)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    if (!pp_object_word(reader, frame + layout->frame.locals + number * sizeof *value, value))
        return false;
    *value &= ~(uintptr_t)layout->code_tag;
    return true;
}
