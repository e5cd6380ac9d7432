/* SPDX-License-Identifier: Apache-2.0 */
#include "find_sources.h"
#include "../base/message.h"
#include "source_modules.h"
#include <string.h>

/* Finds what "module:name.attribute" names. */
static bool find_named(const struct pp_object_reader *reader, const uintptr_t *modules, const char *text,
                       uintptr_t *object)
{
    char name[PP_NAME_MAX];
    uintptr_t dict = pp_source_module(modules, text);
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

/* Whether a source can do without: an attribute need not be in __slots__, and what is read elsewhere need not be there.
 */
static bool is_optional(const struct pp_source *row, const struct pp_step *step)
{
    return step->kind == PP_STEP_ATTRIBUTE || step->missing == PP_MISSING_STAYS || step >= row->ways.from_start;
}

static bool find_row(const struct pp_object_reader *reader, const uintptr_t *modules, const struct pp_source *row,
                     struct pp_source_facts *facts)
{
    const struct pp_step *steps = (const struct pp_step *)&row->ways;
    uintptr_t variable;
    bool found = true;
    if (!pp_source_module(modules, row->module))
        return false;
    for (unsigned i = 0; i < PP_WAY_STEPS; i++)
        if (!find_step(reader, modules, &steps[i], &facts->steps[i]))
            found &= is_optional(row, &steps[i]);
    return found && row->variable && find_named(reader, modules, row->variable, &variable) &&
           pp_context_var_find(reader, variable, &facts->variable);
}

void pp_sources_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_context_facts *facts)
{
    for (unsigned i = 0; i < pp_source_count; i++)
        if (find_row(reader, modules, &pp_sources[i], &facts->sources[i]))
            facts->variables |= 1u << i;
        else if (pp_sources[i].variable)
            memset(&facts->sources[i], 0, sizeof facts->sources[i]);
    for (unsigned i = PP_SOURCE_OTHERS; i < pp_source_count; i++)
        *(pp_sources[i].kind == PP_CONTEXT_SPAN ? &facts->spans : &facts->endpoints) |= facts->variables & 1u << i;
}
