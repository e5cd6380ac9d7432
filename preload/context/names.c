/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"
#include "../base/keyed_hash.h"
#include "../capture/safe_read.h"

#define CHUNK      64 /* entries of a dict that are copied at once */
#define NAME_BYTES (PP_STR_HEADER_MAX + PP_NAME_MAX)
#define ROUNDS_MAX 2u /* of SipHash for each word: one since 3.11, two before */
#define SCANNED    2u /* to find a name by its hash takes as long as to read so many */

/* Entries of a dict, and of the first `names` of them what is at their keys. */
static struct {
    unsigned count, names;
    uint8_t entries[CHUNK * PP_DICT_ENTRY_MAX];
    uint8_t bytes[CHUNK][NAME_BYTES];
    struct iovec local[CHUNK], remote[CHUNK];
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
    return reader->python->layout.text.ascii_data + PP_NAME_MAX;
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
    size_t size = name_bytes(reader);
    for (unsigned i = 0; i < chunk.count; i++) {
        uintptr_t key = entry_of(keys, 0, i).key; /* of a removed entry: NULL */
        chunk.local[i] = (struct iovec){chunk.bytes[i], size};
        chunk.remote[i] = (struct iovec){pp_plausible(key) ? (void *)key : chunk.bytes[i], size};
    }
    long copied = pp_sys_safe_copy(reader->pid, chunk.local, chunk.count, chunk.remote, chunk.count);
    chunk.names = copied > 0 ? (unsigned)((size_t)copied / size) : 0;
}

/* Reads the str of which these are the first bytes. */
static bool name_in(const struct pp_object_reader *reader, uintptr_t object, const uint8_t *bytes, char *name)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    if (pp_word(bytes, layout->object_type) != reader->python->text_type)
        return false;
    struct pp_str text = pp_str_find(layout, object, bytes, PP_NAME_MAX - 1);
    if (text.record.width != 1 || text.record.cut || text.data != object + layout->text.ascii_data)
        return false;
    memcpy(name, bytes + layout->text.ascii_data, text.record.bytes);
    name[text.record.bytes] = 0;
    return true;
}

bool pp_name_read(const struct pp_object_reader *reader, uintptr_t object, char name[PP_NAME_MAX])
{
    uint8_t bytes[NAME_BYTES];
    return pp_plausible(object) && pp_object_copy(reader, bytes, object, name_bytes(reader)) &&
           name_in(reader, object, bytes, name);
}

/* Reads the key of an entry in the chunk. */
static bool key_name(const struct pp_object_reader *reader, const struct pp_python_entry *entry, uint64_t i, char *name)
{
    return i < chunk.names ? name_in(reader, entry->key, chunk.bytes[i], name) : pp_name_read(reader, entry->key, name);
}

static bool is_equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* How an interpreter hashes names: as the first name that was found has it. */
static struct {
    const struct pp_python *python;
    unsigned rounds; /* 0: in a way that is not known */
    uint64_t key[2];
} hashing;

static uint64_t hash_of(const char *name, unsigned rounds)
{
    uint32_t length = 0;
    while (name[length])
        length++;
    uint64_t hash = pp_keyed_bytes(hashing.key, rounds, name, length);
    return hash == UINT64_MAX ? hash - 1 : hash; /* -1 says that there is none */
}

/* found: the key of an entry, a str; copied. */
static void learn_hashing(const struct pp_object_reader *reader, const uint8_t *found, const char *name)
{
    /* after the length */
    uint64_t hash = pp_word(found, reader->python->layout.text.length + sizeof(uintptr_t));
    if (hashing.python == reader->python || hash == UINT64_MAX) /* it was never asked for */
        return;
    hashing.rounds = 0;
    bool known = reader->python->hash_secret &&
                 pp_object_copy(reader, hashing.key, reader->python->hash_secret, sizeof hashing.key);
    for (unsigned rounds = 1; known && rounds <= ROUNDS_MAX; rounds++)
        if (hash_of(name, rounds) == hash)
            hashing.rounds = rounds;
    hashing.python = reader->python; /* last, for a child of fork */
}

static bool knows_hashes(const struct pp_object_reader *reader)
{
    return hashing.rounds && hashing.python == reader->python;
}

/* Finds the entry of a name where its hash puts it. */
static bool find_hashed(const struct pp_object_reader *reader, const struct pp_dict_keys *keys, const char *name,
                        struct pp_python_entry *entry)
{
    char there[PP_NAME_MAX];
    uintptr_t words[2];
    uint64_t number;
    struct pp_dict_probe probe = pp_dict_probe_start(hash_of(name, hashing.rounds));
    while (pp_dict_probe_next(reader, keys, &probe, &number)) {
        uintptr_t address = keys->entries + number * keys->size + keys->key;
        if (!pp_object_copy(reader, words, address, sizeof words))
            return false;
        *entry = (struct pp_python_entry){address, words[0], words[1]};
        if (words[1] && pp_name_read(reader, words[0], there) && is_equal(there, name))
            return true;
    }
    return false;
}

bool pp_python_dict_find(const struct pp_object_reader *reader, uintptr_t dict, const struct pp_wanted *wanted,
                         uint64_t most, struct pp_python_entry *entry)
{
    uintptr_t address, values;
    struct pp_dict_keys keys;
    char name[PP_NAME_MAX];
    if (!pp_dict_open(reader, dict, &address, &values) || values || !pp_dict_keys_open(reader, address, &keys) ||
        (!wanted->name && !keys.key))
        return false;
    if (wanted->name && knows_hashes(reader) && keys.count <= most)
        return find_hashed(reader, &keys, wanted->name, entry);
    for (uint64_t at = 0; at < keys.count && at < most; at += CHUNK) {
        if (!copy_chunk(reader, &keys, at, most))
            return false;
        if (wanted->name)
            copy_names(reader, &keys);
        for (uint64_t i = 0; i < chunk.count; i++) {
            *entry = entry_of(&keys, at, i);
            if (!entry->value || (wanted->name ? !key_name(reader, entry, i, name) || !is_equal(name, wanted->name)
                                               : pp_word(chunk.entries + i * keys.size, 0) != wanted->hash))
                continue;
            if (wanted->name && i < chunk.names)
                learn_hashing(reader, chunk.bytes[i], name);
            return true;
        }
    }
    return false;
}

bool pp_name_find(const struct pp_object_reader *reader, uintptr_t dict, const char *name, uintptr_t *value)
{
    struct pp_python_entry entry;
    bool found = pp_python_dict_find(reader, dict, &(struct pp_wanted){.name = name}, PP_NAMES_MAX, &entry);
    *value = found ? entry.value : 0;
    return found;
}

void pp_names_find(const struct pp_object_reader *reader, uintptr_t dict, uint64_t from, const char *const *names,
                   unsigned count, uintptr_t *values)
{
    uintptr_t address, apart;
    struct pp_dict_keys keys;
    struct pp_python_entry entry;
    char name[PP_NAME_MAX];
    if (!pp_dict_open(reader, dict, &address, &apart) || apart || !pp_dict_keys_open(reader, address, &keys))
        return;
    if (knows_hashes(reader) && from + SCANNED * count < keys.count) {
        for (unsigned n = 0; n < count; n++)
            if (find_hashed(reader, &keys, names[n], &entry))
                values[n] = entry.value;
        return;
    }
    for (uint64_t at = from; at < keys.count && at < PP_NAMES_MAX; at += CHUNK) {
        if (!copy_chunk(reader, &keys, at, PP_NAMES_MAX))
            return;
        copy_names(reader, &keys);
        for (uint64_t i = 0; i < chunk.count; i++) {
            entry = entry_of(&keys, at, i);
            if (!entry.value || !key_name(reader, &entry, i, name))
                continue;
            for (unsigned n = 0; n < count; n++)
                if (is_equal(name, names[n]))
                    values[n] = entry.value;
        }
    }
}
