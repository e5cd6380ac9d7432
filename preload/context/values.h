/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values of Python objects that contexts are made of: numbers, tuples, bytes, entries of small dicts,
 * __slots__. */
#ifndef PP_CONTEXT_VALUES_H
#define PP_CONTEXT_VALUES_H

#include "../capture/objects.h"

/* Says where the instances of a class made by Python keep an attribute that is in __slots__. */
struct pp_member {
    uintptr_t type; /* the class, 0: not found */
    uintptr_t offset;
    /* Its PyMemberDef, and how many the class has itself: the class may be gone, and another one lie at its address. */
    uintptr_t definition, members;
};

/* Returns a character of a text whose characters have this many bytes each. async-signal-safe. */
static inline uint32_t pp_character(const uint8_t *text, uint32_t i, uint32_t width)
{
    uint32_t character = 0;
    memcpy(&character, text + i * width, width); /* little-endian, as all processors of arch/ are */
    return character;
}

/* Whether there is a C string with these characters; reads none beyond its end. async-signal-safe. */
bool pp_c_string_is(const struct pp_object_reader *reader, uintptr_t address, const char *wanted);
/* Whether the type has this name, of a type that C code has made: with its module, if it has one. async-signal-safe. */
bool pp_type_is_named(const struct pp_object_reader *reader, uintptr_t type, const char *name);
/* Whether it is CPython's static type of this name, whose layout is known: classes of a program and of other libraries
 * may have the name, too (of one that was called cell, a number was read as an address); CPython's lies in its own
 * image. async-signal-safe. */
bool pp_type_is_pythons(const struct pp_object_reader *reader, uintptr_t type, const char *name);

/* Finds the qualified name, a str, of a class that Python's code has made; false for others. async-signal-safe. */
bool pp_class_name_find(const struct pp_object_reader *reader, uintptr_t class, uintptr_t *name);

/* Reads the lowest 128 bits of an int of 0 or more, the lower 64 first; false for any other object. async-signal-safe.
 */
bool pp_int_read(const struct pp_object_reader *reader, uintptr_t object, uint64_t value[2]);

/* Reads the first item of a list or of a subclass's instance. async-signal-safe. */
bool pp_list_first(const struct pp_object_reader *reader, uintptr_t list, uintptr_t *item);

/* Locates the bytes of a bytes object, `most` of them. async-signal-safe. */
bool pp_bytes_open(const struct pp_object_reader *reader, uintptr_t object, uint32_t most, struct pp_str *bytes);

/* Reads the value under the key with this address from a dict of a few entries, or a subclass's; *value is 0 if it has
 * none. async-signal-safe. */
bool pp_small_dict_get(const struct pp_object_reader *reader, uintptr_t dict, uintptr_t key, uintptr_t *value);

/* Finds the attribute of this ASCII name in the __slots__ of a class or of its bases. For the flush thread. */
bool pp_member_find(const struct pp_object_reader *reader, uintptr_t type, const char *name,
                    struct pp_member *attribute);
/* Reads the attribute of an instance; *value is 0 if it is not set. False for another class's instance.
 * async-signal-safe.
 */
bool pp_member_read(const struct pp_object_reader *reader, uintptr_t object, const struct pp_member *attribute,
                    uintptr_t *value);

#endif
