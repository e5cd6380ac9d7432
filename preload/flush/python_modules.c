/* SPDX-License-Identifier: Apache-2.0 */
#include "python_modules.h"
#include "../capture/safe_read.h"
#include <string.h>

#define CHUNK       64          /* entries of a dict that are copied at once */
#define STATE_BYTES (24u << 10) /* of a PyInterpreterState: sys.modules is in there */

static bool is_wanted(const struct pp_object_reader *reader, const struct pp_wanted *wanted, const uint8_t *bytes,
                      const struct pp_python_entry *entry)
{
    if (!entry->value)
        return false;
    return wanted->name ? pp_str_is(reader, entry->key, wanted->name) : pp_word(bytes, 0) == wanted->hash;
}

static uint8_t chunk[CHUNK * PP_DICT_ENTRY_MAX];

/* Copies the entries from `at` on into the chunk. */
static bool copy_chunk(const struct pp_object_reader *reader, const struct pp_dict_keys *keys, uint64_t at)
{
    uint64_t count = keys->count - at < CHUNK ? keys->count - at : CHUNK;
    return pp_object_copy(reader, chunk, keys->entries + at * keys->size, count * keys->size);
}

/* at: in the dict; i: in the chunk. */
static struct pp_python_entry entry_of(const struct pp_dict_keys *keys, uint64_t at, uint64_t i)
{
    const uint8_t *bytes = chunk + i * keys->size;
    return (struct pp_python_entry){keys->entries + at * keys->size + keys->key, pp_word(bytes, keys->key),
                                    pp_word(bytes, keys->key + sizeof(uintptr_t))};
}

bool pp_python_dict_find(const struct pp_object_reader *reader, uintptr_t dict, const struct pp_wanted *wanted,
                         uint64_t most, struct pp_python_entry *entry)
{
    uintptr_t address, values;
    struct pp_dict_keys keys;
    if (!pp_dict_open(reader, dict, &address, &values) || values || !pp_dict_keys_open(reader, address, &keys) ||
        (!wanted->name && !keys.key))
        return false;
    for (uint64_t at = 0; at < keys.count && at < most; at += CHUNK) {
        if (!copy_chunk(reader, &keys, at))
            return false;
        for (uint64_t i = 0; i < CHUNK && at + i < keys.count; i++) {
            *entry = entry_of(&keys, at + i, i);
            if (is_wanted(reader, wanted, chunk + i * keys.size, entry))
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
    /* one copy for each word would take some ms, and at a program's start and end there is no sys.modules */
    uintptr_t words[64];
    for (unsigned at = 0; layout->minor == 12 && at < STATE_BYTES; at += sizeof words) {
        bool copied = pp_object_copy(reader, words, state + at, sizeof words);
        for (unsigned i = 0; copied && i < sizeof words / sizeof *words; i++)
            if (is_modules(reader, words[i]))
                return words[i];
    }
    return 0;
}

bool pp_python_name(const struct pp_object_reader *reader, uintptr_t object, char name[PP_MODULE_NAME_MAX])
{
    uint8_t bytes[PP_STR_HEADER_MAX + PP_MODULE_NAME_MAX];
    const struct pp_python_layout *layout = &reader->python->layout;
    size_t header = layout->text.ascii_data;
    if (!pp_plausible(object) || !pp_object_copy(reader, bytes, object, header + PP_MODULE_NAME_MAX) ||
        pp_word(bytes, layout->object_type) != reader->python->text_type)
        return false;
    struct pp_str text = pp_str_find(layout, object, bytes, PP_MODULE_NAME_MAX - 1);
    if (text.record.width != 1 || text.record.cut || text.data != object + header)
        return false;
    memcpy(name, bytes + header, text.record.bytes);
    name[text.record.bytes] = 0;
    return true;
}

void pp_python_module_dicts(const struct pp_object_reader *reader, uintptr_t modules, uint64_t from,
                            const char *const *names, unsigned count, uintptr_t *dicts)
{
    uintptr_t address, values;
    struct pp_dict_keys keys;
    char name[PP_MODULE_NAME_MAX];
    if (!pp_dict_open(reader, modules, &address, &values) || values || !pp_dict_keys_open(reader, address, &keys))
        return;
    for (uint64_t at = from; at < keys.count && at < PP_NAMES_MAX; at++) {
        struct pp_python_entry entry;
        if ((at - from) % CHUNK == 0 && !copy_chunk(reader, &keys, at))
            return;
        entry = entry_of(&keys, at, (at - from) % CHUNK);
        if (!entry.value || !pp_python_name(reader, entry.key, name))
            continue;
        for (unsigned i = 0; i < count; i++)
            if (strcmp(name, names[i]) == 0 &&
                !pp_object_word(reader, entry.value + reader->python->layout.object_type + sizeof *dicts, &dicts[i]))
                dicts[i] = 0;
    }
}

bool pp_python_module_dict(const struct pp_object_reader *reader, uintptr_t modules, const char *name, uintptr_t *dict)
{
    uintptr_t module;
    return pp_python_dict_named(reader, modules, name, PP_NAMES_MAX, &module) &&
           pp_object_word(reader, module + reader->python->layout.object_type + sizeof *dict, dict);
}
