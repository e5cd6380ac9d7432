/* SPDX-License-Identifier: Apache-2.0 */
#include "python_modules.h"
#include "../capture/safe_read.h"

#define FIRST_MODULES 8
#define STATE_BYTES   (24u << 10) /* of a PyInterpreterState: sys.modules is in there */
#define MODULES_MAX   96          /* searched for at once */

/* Recognizes sys.modules by the first modules of every interpreter, as its start makes them. */
static bool is_modules(const struct pp_object_reader *reader, uintptr_t dict)
{
    struct pp_python_entry entry;
    return pp_python_dict_find(reader, dict, &(struct pp_wanted){.name = "sys"}, FIRST_MODULES, &entry) &&
           pp_python_dict_find(reader, dict, &(struct pp_wanted){.name = "builtins"}, FIRST_MODULES, &entry);
}

/* Where an interpreter's state may be another than that we know, every word is tried if sys.modules is not where we
 * expect it. */
uintptr_t pp_python_modules(const struct pp_object_reader *reader, uintptr_t state)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t dict;
    if (pp_object_copy(reader, &dict, state + layout->interpreter.modules, sizeof dict) && is_modules(reader, dict))
        return dict;
    /* one copy for each word would take some ms, and at a program's start and end there is no sys.modules */
    uintptr_t words[64];
    for (unsigned at = 0; layout->state_varies && at < STATE_BYTES; at += sizeof words) {
        bool copied = pp_object_copy(reader, words, state + at, sizeof words);
        for (unsigned i = 0; copied && i < sizeof words / sizeof *words; i++)
            if (is_modules(reader, words[i]))
                return words[i];
    }
    return 0;
}

bool pp_python_module_dicts(const struct pp_object_reader *reader, uintptr_t modules, uint64_t from,
                            const char *const *names, unsigned count, uintptr_t *dicts)
{
    uintptr_t found[MODULES_MAX] = {0};
    bool any = false;
    if (count > MODULES_MAX)
        return false;
    pp_names_find(reader, modules, from, names, count, found);
    for (unsigned n = 0; n < count; n++) {
        any |= found[n] != 0;
        if (found[n] && !pp_object_word(reader, found[n] + reader->python->layout.object.md_dict, &dicts[n]))
            dicts[n] = 0;
    }
    return any;
}

bool pp_python_module_dict(const struct pp_object_reader *reader, uintptr_t modules, const char *name, uintptr_t *dict)
{
    uintptr_t module;
    return pp_name_find(reader, modules, name, &module) &&
           pp_object_word(reader, module + reader->python->layout.object.md_dict, dict);
}
