/* SPDX-License-Identifier: Apache-2.0 */
#include "../capture/safe_read.h"
#include "greenlet.h"
#include "names.h"

#define API_GET_CURRENT 4 /* PyGreenlet_GetCurrent in the extension's table of functions */

/* Sizes of instances. Of greenlet.greenlet: beyond the header since 2.0; before, what is read of it. */
#define NEW_SIZE     24
#define OLD_SIZE_MIN 72
/* Of gevent's Greenlet, beyond those of greenlet.greenlet. */
#define GEVENT_SIZE 104

/* Finds the word that says which greenlet runs, by the code of PyGreenlet_GetCurrent: since 2.0 it is in the TLS block
 * of the object that holds the code; before, the code begins by loading a static variable. */
static bool find_current(const struct pp_object_reader *reader, struct pp_greenlet_facts *facts)
{
    uint8_t code[32];
    if (facts->size == (uintptr_t)reader->python->layout.ob_size + NEW_SIZE)
        return true;
    if (facts->size < OLD_SIZE_MIN || !pp_object_copy(reader, code, facts->getter, sizeof code))
        return false;
    for (unsigned i = 0; i + PP_LOAD_SIZE < sizeof code; i++)
        if (pp_load_of_variable(code + i, facts->getter + i, &facts->current))
            return true;
    return false;
}

/* Finds what gevent adds; without its C code greenlets have the same names, but not where they were spawned. */
static void find_gevent(const struct pp_object_reader *reader, const uintptr_t *modules,
                        struct pp_greenlet_facts *facts)
{
    struct pp_attribute name = {0}, run = {0};
    uintptr_t module = modules[PP_MODULE_GEVENT_GREENLET], dict, size, ignored;
    const struct pp_python_layout *layout = &reader->python->layout;
    if (!pp_name_find(reader, modules[PP_MODULE_GEVENT_HUB], "Hub", &facts->hub_type))
        facts->hub_type = 0;
    if (!pp_name_find(reader, module, "Greenlet", &facts->gevent_type) ||
        !pp_object_word(reader, facts->gevent_type + layout->type.tp_dict, &dict) ||
        !pp_dict_get_named(reader, dict, "name", &name, &ignored) ||
        !pp_dict_get_named(reader, dict, "_run", &run, &ignored) ||
        !pp_object_word(reader, facts->gevent_type + layout->type.tp_basicsize, &size)) {
        facts->gevent_type = 0;
        return;
    }
    facts->name_key = name.key;
    facts->run_key = run.key;
    if (size != facts->size + GEVENT_SIZE || !pp_name_find(reader, module, "_Frame", &facts->spawn_type))
        facts->spawn_type = 0;
}

/* Finds what greenlets may be given to call. */
static void find_callables(const struct pp_object_reader *reader, const uintptr_t *modules,
                           struct pp_greenlet_facts *facts)
{
    if (!pp_name_find(reader, modules[PP_MODULE_TYPES], "FunctionType", &facts->function_type))
        facts->function_type = 0;
    if (!pp_name_find(reader, modules[PP_MODULE_TYPES], "MethodType", &facts->method_type))
        facts->method_type = 0;
    if (!pp_name_find(reader, modules[PP_MODULE_FUNCTOOLS], "partial", &facts->partial_type))
        facts->partial_type = 0;
}

bool pp_greenlet_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_greenlet_facts *facts,
                      const char **why)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t module = modules[PP_MODULE_GREENLET], capsule, table;
    *why = "the class greenlet, or its C interface, is not of a size and form that is known";
    if (!module)
        module = modules[PP_MODULE_OLD_GREENLET];
    if (!pp_name_find(reader, module, "greenlet", &facts->type) || !pp_name_find(reader, module, "_C_API", &capsule) ||
        !pp_object_word(reader, capsule + layout->object.capsule_pointer, &table) ||
        !pp_object_word(reader, table + API_GET_CURRENT * sizeof table, &facts->getter) ||
        !pp_object_word(reader, facts->type + layout->type.tp_basicsize, &facts->size) ||
        !pp_object_word(reader, facts->type + layout->type.tp_dictoffset, &facts->dict_offset) ||
        facts->dict_offset >= facts->size || !find_current(reader, facts))
        return false;
    find_callables(reader, modules, facts);
    find_gevent(reader, modules, facts);
    return true;
}
