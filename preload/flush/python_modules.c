#include "python_modules.h"
#include "../capture/safe_read.h"

#define CHUNK       64          /* entries of a dict that are copied at once */
#define STATE_BYTES (24u << 10) /* of a PyInterpreterState: sys.modules is in there */

static bool is_wanted(const struct pp_object_reader *reader, const struct pp_wanted *wanted, const uint8_t *bytes,
                      const struct pp_python_entry *entry)
{
    if (!entry->value)
        return false;
    return wanted->name ? pp_str_is(reader, entry->key, wanted->name) : pp_word(bytes, 0) == wanted->hash;
}

bool pp_python_dict_find(const struct pp_object_reader *reader, uintptr_t dict, const struct pp_wanted *wanted,
                         uint64_t most, struct pp_python_entry *entry)
{
    static uint8_t chunk[CHUNK * PP_DICT_ENTRY_MAX];
    uintptr_t address, values;
    struct pp_dict_keys keys;
    if (!pp_dict_open(reader, dict, &address, &values) || values || !pp_dict_keys_open(reader, address, &keys) ||
        (!wanted->name && !keys.key))
        return false;
    for (uint64_t at = 0; at < keys.count && at < most; at += CHUNK) {
        uint64_t count = keys.count - at < CHUNK ? keys.count - at : CHUNK;
        if (!pp_object_copy(reader, chunk, keys.entries + at * keys.size, count * keys.size))
            return false;
        for (uint64_t i = 0; i < count; i++) {
            const uint8_t *bytes = chunk + i * keys.size;
            *entry = (struct pp_python_entry){keys.entries + (at + i) * keys.size + keys.key, pp_word(bytes, keys.key),
                                              pp_word(bytes, keys.key + sizeof(uintptr_t))};
            if (is_wanted(reader, wanted, bytes, entry))
                return true;
        }
    }
    return false;
}

bool pp_python_dict_named(const struct pp_object_reader *reader, uintptr_t dict, const char *name, uint64_t most,
                          uintptr_t *value)
{
    struct pp_python_entry entry;
    bool found = pp_python_dict_find(reader, dict, &(struct pp_wanted){.name = name}, most, &entry);
    *value = entry.value;
    return found;
}

/* The first modules of every interpreter, as its start makes them. */
static bool is_modules(const struct pp_object_reader *reader, uintptr_t dict)
{
    uintptr_t module;
    return pp_python_dict_named(reader, dict, "sys", 8, &module) &&
           pp_python_dict_named(reader, dict, "builtins", 8, &module);
}

/* 3.12 does not say where sys.modules is, and not all of its patch releases were checked: there every word is tried if
 * it is not where we expect it. */
uintptr_t pp_python_modules(const struct pp_object_reader *reader, uintptr_t state)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t dict;
    if (pp_object_copy(reader, &dict, state + layout->interpreter.modules, sizeof dict) && is_modules(reader, dict))
        return dict;
    for (unsigned at = 0; layout->minor == 12 && at < STATE_BYTES; at += sizeof dict)
        if (pp_object_copy(reader, &dict, state + at, sizeof dict) && is_modules(reader, dict))
            return dict;
    return 0;
}

bool pp_python_module_dict(const struct pp_object_reader *reader, uintptr_t modules, const char *name, uintptr_t *dict)
{
    uintptr_t module;
    return pp_python_dict_named(reader, modules, name, PP_NAMES_MAX, &module) &&
           pp_object_word(reader, module + reader->python->layout.object_type + sizeof *dict, dict);
}
