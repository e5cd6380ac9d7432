/* SPDX-License-Identifier: Apache-2.0 */
#include "find_sources.h"
#include "../base/check.h"
#include "../base/message.h"
#include "source_modules.h"
#include <string.h>

/* Finds what "module:name.attribute" names. */
static bool find_named(const struct pp_object_reader *reader, const uintptr_t *modules, const char *text,
                       uintptr_t *object)
{
    char name[PP_NAME_MAX];
    uintptr_t dict = pp_source_module(modules, text);
    PP_CHECK(strchr(text, ':'));
    pp_format(name, sizeof name, "%s", strchr(text, ':') + 1);
    char *attribute = strchr(name, '.');
    struct pp_attribute learnt = {0};
    if (attribute)
        *attribute++ = 0;
    return dict && pp_name_find(reader, dict, name, object) &&
           (!attribute || pp_attribute_read(reader, *object, attribute, &learnt, object));
}

/* Finds what a step needs to know: a class, an attribute in its __slots__, a key. */
static bool find_step(const struct pp_object_reader *reader, const uintptr_t *modules, const struct pp_step *step,
                      struct pp_member *found)
{
    uintptr_t object;
    if (!step->of)
        return true;
    if (!find_named(reader, modules, step->of, &object))
        return false;
    found->type = object;
    if (step->name && !pp_member_find(reader, object, step->name, found)) {
        memset(found, 0, sizeof *found);
        return false;
    }
    return true;
}

/* Returns whether a source can do without what a step needs to know: an attribute need not be in __slots__, and what
 * comes before the object, or beside it, need not be there. */
static bool is_optional(const struct pp_source *row, const struct pp_step *step)
{
    return step->kind == PP_STEP_ATTRIBUTE || step->missing == PP_MISSING_STAYS || step >= row->ways.from_start;
}

/* Finds what the steps of a row need to know. */
static bool find_steps(const struct pp_object_reader *reader, const uintptr_t *modules, const struct pp_source *row,
                       struct pp_source_facts *facts)
{
    const struct pp_step *steps = (const struct pp_step *)&row->ways;
    bool found = true;
    for (unsigned i = 0; i < PP_WAY_STEPS; i++)
        if (!find_step(reader, modules, &steps[i], &facts->steps[i]))
            found &= is_optional(row, &steps[i]);
    return found;
}

static bool find_variable(const struct pp_object_reader *reader, const uintptr_t *modules, const char *name,
                          struct pp_context_var *found)
{
    uintptr_t object;
    return find_named(reader, modules, name, &object) && pp_context_var_find(reader, object, found);
}

void pp_sources_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_context_facts *facts)
{
    for (unsigned i = 0; i < pp_source_count; i++) {
        const struct pp_source *row = &pp_sources[i];
        struct pp_source_facts *of_row = &facts->sources[i];
        if (!pp_source_module(modules, row->module))
            continue;
        bool steps = find_steps(reader, modules, row, of_row);
        if (!steps || (row->variable && !find_variable(reader, modules, row->variable, &of_row->variable))) {
            memset(of_row, 0, sizeof *of_row);
            continue;
        }
        facts->found |= 1u << i;
        if (row->variable && i >= PP_SOURCE_OTHERS)
            *(row->kind == PP_CONTEXT_SPAN ? &facts->spans : &facts->endpoints) |= 1u << i;
    }
}
