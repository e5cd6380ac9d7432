/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_sources.h"
#include "../base/message.h"
#include "../capture/frame_rules.h"
#include "source_modules.h"
#include <string.h>

#define BASES_MAX  8
#define CONSTS_MAX 64
#define NESTED     "<locals>."

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
static bool is_lost_within(const struct pp_object_reader *reader, uintptr_t code, const struct pp_function *function)
{
    uintptr_t consts, item;
    bool lost = pp_frame_is_lost(reader, code, function);
    if (!pp_object_word(reader, code + reader->python->layout.code.consts, &consts))
        return false;
    for (unsigned i = 0; i < CONSTS_MAX && pp_tuple_item(reader, consts, i, &item); i++) {
        if (pp_frame_role_read(reader, item).rule != PP_FRAME_ANY)
            return false;
        lost |= pp_frame_is_lost(reader, item, function);
    }
    return lost;
}

/* Returns whether the method that the class has, or inherits, is not as it is known. */
static bool is_lost_in_class(const struct pp_object_reader *reader, uintptr_t function_type, uintptr_t class,
                             const char *method, const struct pp_function *function)
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
            return find_code(reader, function_type, object, &code) && pp_frame_is_lost(reader, code, function);
    }
    return true;
}

static bool is_lost(const struct pp_object_reader *reader, uintptr_t function_type, uintptr_t module,
                    const struct pp_function *function)
{
    char name[PP_NAME_MAX];
    uintptr_t object, code;
    const char *qualname = function->qualname.characters, *dot = strchr(qualname, '.'), *rest = dot ? dot + 1 : "";
    pp_format(name, sizeof name, "%s", qualname);
    name[strcspn(name, ".")] = 0;
    if (!pp_name_find(reader, module, name, &object))
        return true;
    if (!dot)
        return find_code(reader, function_type, object, &code) && pp_frame_is_lost(reader, code, function);
    if (strncmp(rest, NESTED, sizeof NESTED - 1) == 0)
        return find_code(reader, function_type, object, &code) && is_lost_within(reader, code, function);
    return is_lost_in_class(reader, function_type, object, rest, function);
}

bool pp_frame_source_find(const struct pp_object_reader *reader, const uintptr_t *modules, const struct pp_source *row,
                          char remark[PP_FRAME_SOURCE_REMARK])
{
    uintptr_t type, module;
    char name[PP_NAME_MAX];
    bool found = false;
    const struct pp_function *lost = NULL;
    *remark = 0;
    if (!pp_name_find(reader, modules[PP_MODULE_TYPES], "FunctionType", &type))
        return true;
    for (const struct pp_function *function = row->functions; function->rule; function++) {
        module = pp_source_module_of(modules, function);
        if (!module)
            continue;
        if (!is_lost(reader, type, module, function))
            found = true;
        else if (!lost)
            lost = function;
    }
    if (lost && !(found && lost->rule == PP_FRAME_JOB)) { /* a job has one of them: they differ by version */
        pp_source_module_name(lost, name);
        pp_format(remark, PP_FRAME_SOURCE_REMARK, "%s%s of %s is not as it is known", found ? "in part: " : "",
                  lost->qualname.characters, name);
    }
    return found || !lost;
}
