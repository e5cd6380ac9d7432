/* SPDX-License-Identifier: Apache-2.0 */
#include "python_modules.h"
#include "../capture/safe_read.h"
#include <string.h>

#define CHUNK         64 /* entries of a dict that are copied at once */
#define FIRST_MODULES 8
#define STATE_BYTES   (24u << 10) /* of a PyInterpreterState: sys.modules is in there */
#define NAME_BYTES    (PP_STR_HEADER_MAX + PP_MODULE_NAME_MAX)

/* Entries of a dict, and of the first `names` of them what is at their keys. */
static struct {
    unsigned count, names;
    uint8_t entries[CHUNK * PP_DICT_ENTRY_MAX];
    uint8_t bytes[CHUNK][NAME_BYTES];
} chunk;

/* at: of the chunk's first entry in the dict; i: in the chunk. */
static struct pp_python_entry entry_of(const struct pp_dict_keys *keys, uint64_t at, uint64_t i)
{
    const uint8_t *bytes = chunk.entries + i * keys->size;
    return (struct pp_python_entry){keys->entries + (at + i) * keys->size + keys->key, pp_word(bytes, keys->key),
                                    pp_word(bytes, keys->key + sizeof(uintptr_t))};
}

static size_t name_bytes(const struct pp_object_reader *reader)
{
    return reader->python->layout.text.ascii_data + PP_MODULE_NAME_MAX;
}

/* Copies entries from `at` on, below `most`, into the chunk. */
static bool copy_chunk(const struct pp_object_reader *reader, const struct pp_dict_keys *keys, uint64_t at,
                       uint64_t most)
{
    uint64_t left = (keys->count < most ? keys->count : most) - at;
    chunk.count = left < CHUNK ? (unsigned)left : CHUNK;
    chunk.names = 0;
    return pp_object_copy(reader, chunk.entries, keys->entries + at * keys->size, chunk.count * keys->size);
}

/* Copies what is at the keys: at once, which takes a third of what a system call for each does. The kernel stops where
 * one cannot be read. */
static void copy_names(const struct pp_object_reader *reader, const struct pp_dict_keys *keys)
{
    struct iovec local[CHUNK], remote[CHUNK];
    size_t size = name_bytes(reader);
    for (unsigned i = 0; i < chunk.count; i++) {
        uintptr_t key = entry_of(keys, 0, i).key; /* of a removed entry: NULL */
        local[i] = (struct iovec){chunk.bytes[i], size};
        remote[i] = (struct iovec){pp_plausible(key) ? (void *)key : chunk.bytes[i], size};
    }
    long copied = pp_sys_safe_copy(reader->pid, local, chunk.count, remote, chunk.count);
    chunk.names = copied > 0 ? (unsigned)((size_t)copied / size) : 0;
}

/* Reads the str of which these are the first bytes. */
static bool name_in(const struct pp_object_reader *reader, uintptr_t object, const uint8_t *bytes, char *name)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    if (pp_word(bytes, layout->object_type) != reader->python->text_type)
        return false;
    struct pp_str text = pp_str_find(layout, object, bytes, PP_MODULE_NAME_MAX - 1);
    if (text.record.width != 1 || text.record.cut || text.data != object + layout->text.ascii_data)
        return false;
    memcpy(name, bytes + layout->text.ascii_data, text.record.bytes);
    name[text.record.bytes] = 0;
    return true;
}

bool pp_python_name(const struct pp_object_reader *reader, uintptr_t object, char name[PP_MODULE_NAME_MAX])
{
    uint8_t bytes[NAME_BYTES];
    return pp_plausible(object) && pp_object_copy(reader, bytes, object, name_bytes(reader)) &&
           name_in(reader, object, bytes, name);
}

/* Reads the key of an entry in the chunk. */
static bool key_name(const struct pp_object_reader *reader, const struct pp_python_entry *entry, uint64_t i, char *name)
{
    return i < chunk.names ? name_in(reader, entry->key, chunk.bytes[i], name)
                           : pp_python_name(reader, entry->key, name);
}

bool pp_python_dict_find(const struct pp_object_reader *reader, uintptr_t dict, const struct pp_wanted *wanted,
                         uint64_t most, struct pp_python_entry *entry)
{
    uintptr_t address, values;
    struct pp_dict_keys keys;
    char name[PP_MODULE_NAME_MAX];
    if (!pp_dict_open(reader, dict, &address, &values) || values || !pp_dict_keys_open(reader, address, &keys) ||
        (!wanted->name && !keys.key))
        return false;
    for (uint64_t at = 0; at < keys.count && at < most; at += CHUNK) {
        if (!copy_chunk(reader, &keys, at, most))
            return false;
        if (wanted->name)
            copy_names(reader, &keys);
        for (uint64_t i = 0; i < chunk.count; i++) {
            *entry = entry_of(&keys, at, i);
            if (entry->value && (wanted->name ? key_name(reader, entry, i, name) && strcmp(name, wanted->name) == 0
                                              : pp_word(chunk.entries + i * keys.size, 0) == wanted->hash))
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

/* Whether the name is a key of the chunk, which holds a dict's first entries. */
static bool is_in_chunk(const struct pp_object_reader *reader, const struct pp_dict_keys *keys, const char *wanted)
{
    char name[PP_MODULE_NAME_MAX];
    for (uint64_t i = 0; i < chunk.count; i++) {
        struct pp_python_entry entry = entry_of(keys, 0, i);
        if (entry.value && key_name(reader, &entry, i, name) && strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

/* Recognizes sys.modules by the first modules of every interpreter, as its start makes them. */
static bool is_modules(const struct pp_object_reader *reader, uintptr_t dict)
{
    uintptr_t address, values;
    struct pp_dict_keys keys;
    if (!pp_dict_open(reader, dict, &address, &values) || values || !pp_dict_keys_open(reader, address, &keys) ||
        !copy_chunk(reader, &keys, 0, FIRST_MODULES))
        return false;
    copy_names(reader, &keys);
    return is_in_chunk(reader, &keys, "sys") && is_in_chunk(reader, &keys, "builtins");
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
        uint64_t i = (at - from) % CHUNK;
        if (!i && !copy_chunk(reader, &keys, at, PP_NAMES_MAX))
            return;
        if (!i)
            copy_names(reader, &keys);
        entry = entry_of(&keys, at - i, i);
        if (!entry.value || !key_name(reader, &entry, i, name))
            continue;
        for (unsigned n = 0; n < count; n++)
            if (*name == *names[n] && strcmp(name, names[n]) == 0 &&
                !pp_object_word(reader, entry.value + reader->python->layout.object_type + sizeof *dicts, &dicts[n]))
                dicts[n] = 0;
    }
}

bool pp_python_module_dict(const struct pp_object_reader *reader, uintptr_t modules, const char *name, uintptr_t *dict)
{
    uintptr_t module;
    return pp_python_dict_named(reader, modules, name, PP_NAMES_MAX, &module) &&
           pp_object_word(reader, module + reader->python->layout.object_type + sizeof *dict, dict);
}
