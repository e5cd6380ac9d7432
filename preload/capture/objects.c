/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"
#include "safe_read.h"

#define KEYS_COPY       64 /* bytes of a keys object that are copied at most */
#define SLOTS_MAX       ((uint64_t)1 << 32)
#define LOG_MAX         34
#define SEARCHED        64 /* keys of an instance */
#define PROBES_MAX      32 /* slots of a dict that are tried for a key */
#define SLOT_EMPTY      (-1)
#define ASCII_MAX       48 /* of a name that is searched for */
#define BASES_MAX       6  /* between a class and the type that is searched for */
#define DICT_OFFSET_MAX 4096

/* Fields of a str's state word after a shift by layout.text.kind_shift */
#define TEXT_KIND(bits)       ((bits)&7)
#define TEXT_IS_COMPACT(bits) (((bits) >> 3) & 1)
#define TEXT_IS_ASCII(bits)   (((bits) >> 4) & 1)

void pp_read_set_add(struct pp_read_set *set, uintptr_t address, size_t size)
{
    /* whole words: those that an object begins and ends in are in the same page */
    for (uintptr_t at = address & ~(sizeof at - 1); at < address + size; at += sizeof at) {
        uint8_t *recent = &set->recent[at / sizeof at % PP_READ_RECENT];
        if (*recent < set->count && set->words[*recent].address == at)
            continue;
        if (set->count == set->max) {
            set->incomplete = true;
            return;
        }
        *recent = set->count;
        set->words[set->count++] = (struct pp_read_word){at, pp_word((const void *)at, 0)};
    }
}

bool pp_object_copy_safely(const struct pp_object_reader *reader, void *to, uintptr_t address, size_t size)
{
    if (reader->set)
        reader->set->incomplete = true;
    return reader->copies ? pp_object_copies_read(reader->copies, reader->pid, to, address, size)
                          : pp_safe_read(reader->pid, to, address, size);
}

bool pp_object_type(const struct pp_object_reader *reader, uintptr_t object, uintptr_t *type)
{
    return pp_plausible(object) && pp_object_word(reader, object + reader->python->layout.object_type, type) &&
           pp_plausible(*type);
}

bool pp_object_is(const struct pp_object_reader *reader, uintptr_t object, uintptr_t wanted)
{
    uintptr_t type;
    if (!wanted || !pp_object_type(reader, object, &type))
        return false;
    for (unsigned i = 0; i < BASES_MAX && type != wanted; i++)
        if (!pp_plausible(type) || !pp_object_word(reader, type + reader->python->layout.type.tp_base, &type))
            return false;
    return type == wanted;
}

/* Whether the object may be copied as one of this type: a smaller object may lie at the end of its memory. What the
 * kernel copies is checked afterwards. async-signal-safe. */
static bool is_of_type(const struct pp_object_reader *reader, uintptr_t object, uintptr_t wanted)
{
    uintptr_t type;
    return pp_plausible(object) && (!reader->direct || (pp_object_type(reader, object, &type) && type == wanted));
}

bool pp_dict_open(const struct pp_object_reader *reader, uintptr_t dict, uintptr_t *keys, uintptr_t *values)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t type;
    if (reader->direct) { /* not its length and version, which change more often */
        if (!pp_object_type(reader, dict, &type) || type != reader->python->dict_type ||
            !pp_object_word(reader, dict + layout->dict.ma_keys, keys) ||
            !pp_object_word(reader, dict + layout->dict.ma_values, values))
            return false;
    } else {
        uint8_t bytes[PP_DICT_COPY_MAX]; /* from the type on */
        unsigned first = layout->object_type;
        if (!pp_plausible(dict) ||
            !pp_object_copy(reader, bytes, dict + first, layout->dict.ma_values + sizeof *values - first) ||
            pp_word(bytes, 0) != reader->python->dict_type)
            return false;
        *keys = pp_word(bytes, layout->dict.ma_keys - first);
        *values = pp_word(bytes, layout->dict.ma_values - first);
    }
    if (*values)
        *values += layout->dict_keys.values;
    return true;
}

/* Copies a keys object's sizes, which are in one word, and its number of entries. async-signal-safe. */
static bool copy_keys(const struct pp_object_reader *reader, uintptr_t keys, uint8_t header[KEYS_COPY])
{
    const struct pp_python_layout *layout = &reader->python->layout;
    enum { SIZES = sizeof(uintptr_t) };
    if (!reader->direct)
        return pp_object_copy(reader, header + SIZES, keys + SIZES, layout->dict_keys.dk_indices - SIZES);
    unsigned entries = layout->dict_keys.dk_nentries;
    return pp_object_copy(reader, header + SIZES, keys + SIZES, sizeof(uintptr_t)) &&
           pp_object_copy(reader, header + entries, keys + entries, sizeof(uintptr_t));
}

bool pp_dict_keys_open(const struct pp_object_reader *reader, uintptr_t keys, struct pp_dict_keys *found)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uint8_t header[KEYS_COPY]; /* without the number of references */
    if (!pp_plausible(keys) || !copy_keys(reader, keys, header))
        return false;
    uintptr_t indices = keys + layout->dict_keys.dk_indices;
    uint64_t count = pp_word(header, layout->dict_keys.dk_nentries);
    if (layout->dict_keys.dk_size) {
        uint64_t slots = pp_word(header, layout->dict_keys.dk_size);
        unsigned width = slots <= UINT8_MAX ? 1 : slots <= UINT16_MAX ? 2 : 4; /* of the index of an entry */
        *found = (struct pp_dict_keys){indices + slots * width, count, 24, 8, indices, slots, width};
        return slots < SLOTS_MAX;
    }
    unsigned log_size = header[layout->dict_keys.dk_log2_size];
    unsigned log_bytes = header[layout->dict_keys.dk_log2_index_bytes];
    if (log_bytes > LOG_MAX || log_size > log_bytes)
        return false;
    bool general = header[layout->dict_keys.dk_kind] == 0; /* else all keys are str, and their hashes are in them */
    *found = (struct pp_dict_keys){indices + ((uintptr_t)1 << log_bytes),
                                   count,
                                   general ? 24 : 16,
                                   general ? 8 : 0,
                                   indices,
                                   (uint64_t)1 << log_size,
                                   1u << (log_bytes - log_size)};
    return found->slot_size <= sizeof(uint64_t);
}

/* Where an instance keeps its attributes. */
struct storage {
    uintptr_t keys;
    uintptr_t values; /* 0: the entries of `keys` have them */
    uint64_t room;    /* of the values */
};

/* Finds the values of an instance that has no dict (3.11 and later), else the dict. async-signal-safe. */
static bool find_values(const struct pp_object_reader *reader, uintptr_t object, uintptr_t type,
                        struct storage *storage, uintptr_t *dict)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t flags, word;
    *storage = (struct storage){.room = UINT8_MAX};
    *dict = 0;
    if (!layout->type.managed_dict)
        return pp_object_word(reader, type + layout->type.tp_dictoffset, &word) && word - 1 < DICT_OFFSET_MAX &&
               pp_object_word(reader, object + word, dict);
    if (!pp_object_word(reader, type + layout->type.tp_flags, &flags) || !(flags & layout->type.managed_dict))
        return false;
    if (layout->instance.values && !pp_object_word(reader, object - layout->instance.values, &storage->values))
        return false;
    if (flags & layout->type.inline_values) {
        if (!pp_object_word(reader, type + layout->type.tp_basicsize, &word) ||
            !pp_object_word(reader, object + word, &storage->room))
            return false;
        if (storage->room >> 24 & UINT8_MAX) /* valid: no dict has taken them over */
            storage->values = object + word + layout->dict_keys.values;
        storage->room &= UINT8_MAX;
    }
    if (!pp_object_word(reader, object - layout->instance.dict, dict))
        return false;
    if (layout->instance.tagged && *dict & 1)
        storage->values = *dict + 1;
    return true;
}

/* async-signal-safe. */
static bool find_storage(const struct pp_object_reader *reader, uintptr_t object, struct storage *storage)
{
    uintptr_t type, dict;
    if (!reader->python->layout.heap_type.cached_keys || !pp_object_type(reader, object, &type) ||
        !find_values(reader, object, type, storage, &dict))
        return false;
    if (storage->values)
        return pp_object_word(reader, type + reader->python->layout.heap_type.cached_keys, &storage->keys);
    return pp_dict_open(reader, dict, &storage->keys, &storage->values);
}

/* Finds the key, at first where it was found last. async-signal-safe. */
static bool find_key(const struct pp_object_reader *reader, const struct pp_dict_keys *keys, const char *name,
                     struct pp_attribute *learnt)
{
    uintptr_t key;
    uint64_t at = learnt->index;
    if (learnt->key && at < keys->count && pp_object_word(reader, keys->entries + at * keys->size + keys->key, &key) &&
        key == learnt->key)
        return true;
    for (at = 0; at < keys->count && at < SEARCHED; at++)
        if (pp_object_word(reader, keys->entries + at * keys->size + keys->key, &key) && pp_str_is(reader, key, name)) {
            *learnt = (struct pp_attribute){key, at};
            return true;
        }
    return false;
}

bool pp_attribute_read(const struct pp_object_reader *reader, uintptr_t object, const char *name,
                       struct pp_attribute *learnt, uintptr_t *value)
{
    struct storage storage;
    struct pp_dict_keys keys;
    if (!find_storage(reader, object, &storage) || !pp_dict_keys_open(reader, storage.keys, &keys) ||
        !find_key(reader, &keys, name, learnt))
        return false;
    if (!storage.values)
        return pp_object_word(reader, keys.entries + learnt->index * keys.size + keys.key + sizeof *value, value);
    return learnt->index < storage.room &&
           pp_object_word(reader, storage.values + learnt->index * sizeof *value, value);
}

bool pp_dict_get(const struct pp_object_reader *reader, uintptr_t dict, uintptr_t key, uintptr_t *value)
{
    uintptr_t address, values, entry[2];
    struct pp_dict_keys keys;
    if (!pp_dict_open(reader, dict, &address, &values) || !pp_dict_keys_open(reader, address, &keys))
        return false;
    for (uint64_t i = 0; i < keys.count && i < SEARCHED; i++)
        if (pp_object_copy(reader, entry, keys.entries + i * keys.size + keys.key, sizeof entry) && entry[0] == key) {
            *value = entry[1];
            return (!values || pp_object_word(reader, values + i * sizeof *value, value)) && *value;
        }
    return false;
}

bool pp_dict_probe_next(const struct pp_object_reader *reader, const struct pp_dict_keys *keys,
                        struct pp_dict_probe *probe, uint64_t *number)
{
    while (probe->count++ < PROBES_MAX) {
        uint64_t word, slot = probe->slot & (keys->slot_count - 1);
        uintptr_t at = keys->slots + slot * keys->slot_size, aligned = at & ~(sizeof word - 1);
        unsigned unused_bits = 64 - 8 * keys->slot_size;
        if (!pp_object_copy(reader, &word, aligned, sizeof word))
            return false;
        int64_t entry = (int64_t)(word << (unused_bits - 8 * (at - aligned))) >> unused_bits;
        probe->perturb >>= 5;
        probe->slot = slot * 5 + probe->perturb + 1;
        if (entry == SLOT_EMPTY || entry >= (int64_t)keys->count)
            return false;
        *number = (uint64_t)entry;
        if (entry >= 0)
            return true;
    }
    return false;
}

bool pp_dict_get_hashed(const struct pp_object_reader *reader, uintptr_t dict, const struct pp_dict_key *key,
                        uintptr_t *value)
{
    uintptr_t address, values, entry[2];
    uint64_t number;
    struct pp_dict_keys keys;
    if (!pp_dict_open(reader, dict, &address, &values) || values || !pp_dict_keys_open(reader, address, &keys))
        return false;
    struct pp_dict_probe probe = pp_dict_probe_start(key->hash);
    while (pp_dict_probe_next(reader, &keys, &probe, &number)) {
        if (pp_object_copy(reader, entry, keys.entries + number * keys.size + keys.key, sizeof entry) &&
            entry[0] == key->address) {
            *value = entry[1];
            return *value != 0;
        }
    }
    return false;
}

bool pp_dict_get_named(const struct pp_object_reader *reader, uintptr_t dict, const char *name,
                       struct pp_attribute *learnt, uintptr_t *value)
{
    uintptr_t address, values;
    struct pp_dict_keys keys;
    return pp_dict_open(reader, dict, &address, &values) && !values && pp_dict_keys_open(reader, address, &keys) &&
           find_key(reader, &keys, name, learnt) &&
           pp_object_word(reader, keys.entries + learnt->index * keys.size + keys.key + sizeof *value, value) && *value;
}

struct pp_str pp_str_find(const struct pp_python_layout *layout, uintptr_t object, const uint8_t *header, uint32_t most)
{
    struct pp_str text = {0, {0, 0, 0, 0}};
    uint32_t state = pp_u32(header, layout->text.state) >> layout->text.kind_shift;
    uintptr_t length = pp_word(header, layout->text.length);
    uint32_t width = TEXT_KIND(state);
    if (!TEXT_IS_COMPACT(state) || (width != 1 && width != 2 && width != 4) || length > PP_HIGHEST_ADDRESS)
        return text;
    uintptr_t bytes = length * width;
    text.data = object + (TEXT_IS_ASCII(state) ? layout->text.ascii_data : layout->text.compact_data);
    text.record.width = (uint8_t)width;
    text.record.cut = bytes > most;
    text.record.bytes = (uint32_t)(bytes > most ? most : bytes);
    return text;
}

bool pp_str_open(const struct pp_object_reader *reader, uintptr_t object, uint32_t most, struct pp_str *text)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uint8_t header[PP_STR_HEADER_MAX]; /* without the number of references */
    unsigned first = layout->object_type;
    if (!is_of_type(reader, object, reader->python->text_type) ||
        !pp_object_copy(reader, header + first, object + first, layout->text.state + 4u - first) ||
        pp_word(header, layout->object_type) != reader->python->text_type)
        return false;
    *text = pp_str_find(layout, object, header, most);
    return text->record.width != 0;
}

bool pp_str_is(const struct pp_object_reader *reader, uintptr_t object, const char *ascii)
{
    struct pp_str text;
    char characters[ASCII_MAX];
    uint32_t length = 0;
    while (ascii[length])
        length++;
    return pp_str_open(reader, object, ASCII_MAX, &text) && text.record.width == 1 && text.record.bytes == length &&
           !text.record.cut && pp_object_copy(reader, characters, text.data, length) &&
           memcmp(characters, ascii, length) == 0;
}

bool pp_object_has_class(const struct pp_object_reader *reader, uintptr_t object, enum pp_class class)
{
    uintptr_t type, flags;
    return pp_object_type(reader, object, &type) &&
           pp_object_word(reader, type + reader->python->layout.type.tp_flags, &flags) && flags >> class & 1;
}

bool pp_tuple_item(const struct pp_object_reader *reader, uintptr_t tuple, uintptr_t index, uintptr_t *item)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t size, items = tuple + layout->items.tuple_ob_item;
    return pp_object_has_class(reader, tuple, PP_CLASS_TUPLE) &&
           pp_object_word(reader, tuple + layout->ob_size, &size) && index < size &&
           pp_object_word(reader, items + index * sizeof *item, item);
}
