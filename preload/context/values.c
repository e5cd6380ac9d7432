/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"
#include "../capture/safe_read.h"
#include "names.h"

#define BASES_MAX      6
#define DIGITS_MAX     5 /* of 30 bits: 128 bits */
#define DIGIT_BITS     30
#define SMALL_DICT     16
#define OFFSET_MAX     4096
#define KIND_OBJECT    6 /* of a member: _Py_T_OBJECT, Py_T_OBJECT_EX [3.8–3.15: structmember.h, descrobject.h] */
#define KIND_OBJECT_EX 16

bool pp_c_string_is(const struct pp_object_reader *reader, uintptr_t address, const char *wanted)
{
    char character;
    for (;; address++, wanted++) {
        if (!pp_object_copy(reader, &character, address, 1) || character != *wanted)
            return false;
        if (!character)
            return true;
    }
}

bool pp_type_is_named(const struct pp_object_reader *reader, uintptr_t type, const char *name)
{
    /* up to 3.10 a class that PyType_FromSpec made keeps the address of a name that its maker may have freed */
    struct pp_object_reader careful = *reader;
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t address, flags;
    if (!pp_object_word(reader, type + layout->type.tp_flags, &flags) ||
        !pp_object_word(reader, type + layout->type.tp_name, &address))
        return false;
    careful.direct &= !(flags >> PP_CLASS_HEAP & 1);
    return pp_c_string_is(&careful, address, name);
}

bool pp_type_is_pythons(const struct pp_object_reader *reader, uintptr_t type, const char *name)
{
    const struct pp_python *python = reader->python;
    return type - python->module_start < python->module_end - python->module_start &&
           pp_type_is_named(reader, type, name);
}

bool pp_class_name_find(const struct pp_object_reader *reader, uintptr_t class, uintptr_t *name)
{
    uintptr_t words[2], place = reader->python->layout.heap_type.cached_keys; /* the name comes before it */
    uintptr_t flags;
    return place && pp_object_word(reader, class + reader->python->layout.type.tp_flags, &flags) &&
           flags >> PP_CLASS_HEAP & 1 && pp_object_copy(reader, words, class + place - sizeof *words, sizeof words) &&
           words[1] && (*name = words[0]) != 0;
}

bool pp_int_read(const struct pp_object_reader *reader, uintptr_t object, uint64_t value[2])
{
    uint32_t digits[DIGITS_MAX] = {0};
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t size;
    if (!pp_object_has_class(reader, object, PP_CLASS_INT) ||
        !pp_object_word(reader, object + layout->ob_size, &size) || (size & layout->integer.sign_mask) > 1)
        return false;
    size >>= layout->integer.non_size_bits;
    if (size > DIGITS_MAX || !pp_object_copy(reader, digits, object + layout->integer.ob_digit, size * sizeof *digits))
        return false;
    unsigned __int128 sum = 0;
    for (unsigned i = DIGITS_MAX; i-- > 0;)
        sum = sum << DIGIT_BITS | digits[i];
    value[0] = (uint64_t)sum;
    value[1] = (uint64_t)(sum >> 64);
    return true;
}

bool pp_list_first(const struct pp_object_reader *reader, uintptr_t list, uintptr_t *item)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t size, items;
    return pp_object_has_class(reader, list, PP_CLASS_LIST) && pp_object_word(reader, list + layout->ob_size, &size) &&
           size && pp_object_word(reader, list + layout->items.list_ob_item, &items) &&
           pp_object_word(reader, items, item);
}

bool pp_bytes_open(const struct pp_object_reader *reader, uintptr_t object, uint32_t most, struct pp_str *bytes)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t size;
    if (!pp_object_has_class(reader, object, PP_CLASS_BYTES) ||
        !pp_object_word(reader, object + layout->bytes.length, &size))
        return false;
    bytes->data = object + layout->bytes.data;
    bytes->record = (struct pp_record_text){(uint32_t)(size > most ? most : size), 1, size > most, 0};
    return true;
}

/* Finds the entries of a dict that has no values apart; up to 3.10 an empty dict has some, but no keys.
 * async-signal-safe. */
static bool find_entries(const struct pp_object_reader *reader, uintptr_t dict, struct pp_dict_keys *keys)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t at, values;
    return pp_object_has_class(reader, dict, PP_CLASS_DICT) &&
           pp_object_word(reader, dict + layout->dict.ma_keys, &at) &&
           pp_object_word(reader, dict + layout->dict.ma_values, &values) && pp_dict_keys_open(reader, at, keys) &&
           (!values || !keys->count);
}

bool pp_small_dict_get(const struct pp_object_reader *reader, uintptr_t dict, uintptr_t key, uintptr_t *value)
{
    struct pp_dict_keys keys;
    *value = 0;
    if (!find_entries(reader, dict, &keys))
        return false;
    for (uint64_t i = 0; i < keys.count && i < SMALL_DICT; i++) {
        uintptr_t found, at = keys.entries + i * keys.size + keys.key;
        if (!pp_object_word(reader, at, &found))
            return false;
        if (found == key)
            return pp_object_word(reader, at + sizeof found, value);
    }
    return keys.count <= SMALL_DICT;
}

/* Whether the definition is of a member that is an object at this place. async-signal-safe. */
static bool defines_object(const struct pp_object_reader *reader, uintptr_t definition, uintptr_t offset)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t place;
    int kind;
    return pp_object_copy(reader, &kind, definition + layout->object.member_type, sizeof kind) &&
           (kind == KIND_OBJECT || kind == KIND_OBJECT_EX) &&
           pp_object_word(reader, definition + layout->object.member_offset, &place) && place == offset;
}

bool pp_member_find(const struct pp_object_reader *reader, uintptr_t type, const char *name,
                    struct pp_member *attribute)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t dict, member, kind;
    attribute->type = 0;
    for (unsigned bases = 0; bases < BASES_MAX && pp_plausible(type); bases++) {
        if (pp_object_word(reader, type + layout->type.tp_dict, &dict) && pp_name_find(reader, dict, name, &member)) {
            if (!pp_object_type(reader, member, &kind) || !kind || kind != reader->python->member_type ||
                !pp_object_word(reader, member + layout->object.d_member, &attribute->definition) ||
                !pp_object_word(reader, attribute->definition + layout->object.member_offset, &attribute->offset) ||
                attribute->offset >= OFFSET_MAX || !defines_object(reader, attribute->definition, attribute->offset) ||
                !pp_object_word(reader, type + layout->ob_size, &attribute->members))
                return false;
            attribute->type = type;
            return true;
        }
        if (!pp_object_word(reader, type + layout->type.tp_base, &type))
            return false;
    }
    return false;
}

bool pp_member_read(const struct pp_object_reader *reader, uintptr_t object, const struct pp_member *attribute,
                    uintptr_t *value)
{
    uintptr_t members;
    return pp_object_is(reader, object, attribute->type) &&
           pp_object_word(reader, attribute->type + reader->python->layout.ob_size, &members) &&
           members == attribute->members && defines_object(reader, attribute->definition, attribute->offset) &&
           pp_object_word(reader, object + attribute->offset, value);
}
