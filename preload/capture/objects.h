/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Python objects: attributes of instances, dicts, strings. Every read is bounded and checks types first; an
 * object that is being changed reads as absent.
 *
 * A direct reader loads what the interrupted thread keeps alive, which holds the GIL. No other thread can drop a
 * reference then, and this thread stores the new pointer before it drops the old reference (Py_SETREF), in dicts and
 * their values, types, contexts, tasks and futures: what a field leads to is alive after every instruction. Where that
 * is not so the reader is careful, which is to copy: the items of a list that grows, a deque, what greenlet 1.x and
 * modules that are removed leave behind, a class's name that its maker owns. tests/torture steps through it with freed
 * memory taken away. Static types, their names and the definitions of built-in functions are in modules, which CPython
 * never unloads. */
#ifndef PP_CAPTURE_OBJECTS_H
#define PP_CAPTURE_OBJECTS_H

#include "object_copies.h"
#include "python.h"
#include "record.h"
#include "safe_read.h"
#include <stddef.h>

/* Words that were read, in their order: where each was found depends on those before it alone. */
struct pp_read_word {
    uintptr_t address, word;
};
#define PP_READ_RECENT 64
struct pp_read_set {
    struct pp_read_word *words;
    uint8_t count, max;
    bool incomplete;                /* there was no room, or something was read by other means */
    uint8_t recent[PP_READ_RECENT]; /* by address: where a word was put last */
};

struct pp_object_reader {
    const struct pp_python *python;
    int pid;
    bool direct;                     /* what is read cannot be freed meanwhile; otherwise it is copied by the kernel */
    struct pp_object_copies *copies; /* none at the start of a sample; NULL: every read is of this moment */
    struct pp_read_set *set;         /* records what is read; NULL: nothing does */
};

/* Where an attribute was found last: the instances of a class mostly share their keys. */
struct pp_attribute {
    uintptr_t key; /* its name, which the class's code keeps alive */
    uint64_t index;
};

/* The entries of a dict's keys object. */
struct pp_dict_keys {
    uintptr_t entries;
    uint64_t count;
    unsigned size, key; /* bytes of an entry; where its key is, which the value follows */
    /* The hash table of the entries' numbers: 1, 2, 4 or 8 bytes each. */
    uintptr_t slots;
    uint64_t slot_count;
    unsigned slot_size;
};
#define PP_DICT_ENTRY_MAX 24

/* Characters of a str object. */
struct pp_str {
    uintptr_t data;
    struct pp_record_text record;
};

/* Adds the words that have these bytes. async-signal-safe. */
void pp_read_set_add(struct pp_read_set *set, uintptr_t address, size_t size);

/* Copies for a reader that is not direct: by process_vm_readv, as the memory may be freed meanwhile. async-signal-safe.
 */
bool pp_object_copy_safely(const struct pp_object_reader *reader, void *to, uintptr_t address, size_t size);

/* Copies what may be no object at all; false if it cannot be read. async-signal-safe. */
static inline bool pp_object_copy(const struct pp_object_reader *reader, void *to, uintptr_t address, size_t size)
{
    if (address < PP_LOWEST_ADDRESS || address > PP_HIGHEST_ADDRESS - size)
        return false;
    if (!reader->direct)
        return pp_object_copy_safely(reader, to, address, size);
    memcpy(to, (const void *)address, size);
    if (reader->set)
        pp_read_set_add(reader->set, address, size);
    return true;
}

/* Reads a word that may be at no valid address. async-signal-safe. */
static inline bool pp_object_word(const struct pp_object_reader *reader, uintptr_t address, uintptr_t *word)
{
    return address % sizeof *word == 0 && pp_object_copy(reader, word, address, sizeof *word);
}

/* Finds the values of an exact dict: *values is 0 if they are in the entries. async-signal-safe. */
bool pp_dict_open(const struct pp_object_reader *reader, uintptr_t dict, uintptr_t *keys, uintptr_t *values);
/* Finds the entries of a keys object. async-signal-safe. */
bool pp_dict_keys_open(const struct pp_object_reader *reader, uintptr_t keys, struct pp_dict_keys *found);

/* Reads the type of what may be no object at all. async-signal-safe. */
bool pp_object_type(const struct pp_object_reader *reader, uintptr_t object, uintptr_t *type);
/* Whether the object is of this type or of a class derived from it. async-signal-safe. */
bool pp_object_is(const struct pp_object_reader *reader, uintptr_t object, uintptr_t type);

/* Reads the value of a key of an exact dict, among the first ones; false if it has none. By the key's address:
 * async-signal-safe. */
bool pp_dict_get(const struct pp_object_reader *reader, uintptr_t dict, uintptr_t key, uintptr_t *value);
/* The way of a hash through a dict's hash table. */
struct pp_dict_probe {
    uint64_t slot, perturb;
    unsigned count;
};
static inline struct pp_dict_probe pp_dict_probe_start(uint64_t hash)
{
    return (struct pp_dict_probe){hash, hash, 0};
}
/* Finds the number of the next entry that may be of this hash. False: there is none. async-signal-safe. */
bool pp_dict_probe_next(const struct pp_object_reader *reader, const struct pp_dict_keys *keys,
                        struct pp_dict_probe *probe, uint64_t *number);

/* A key by its address and hash. */
struct pp_dict_key {
    uintptr_t address;
    uint64_t hash;
};
/* Does so for a dict of any size. async-signal-safe. */
bool pp_dict_get_hashed(const struct pp_object_reader *reader, uintptr_t dict, const struct pp_dict_key *key,
                        uintptr_t *value);
/* Returns an object as a key whose hash is its address, as objects have it by default. async-signal-safe. */
static inline struct pp_dict_key pp_dict_key_object(uintptr_t object)
{
    return (struct pp_dict_key){object, (uint64_t)object >> 4 | (uint64_t)object << 60}; /* _Py_HashPointer */
}
/* The key is a str with these ASCII characters. learnt: zeroed at first. async-signal-safe. */
bool pp_dict_get_named(const struct pp_object_reader *reader, uintptr_t dict, const char *name,
                       struct pp_attribute *learnt, uintptr_t *value);

/* Reads an attribute that an instance keeps in its values or its dict; false if it has none of this ASCII name. learnt:
 * zeroed at first. async-signal-safe. */
bool pp_attribute_read(const struct pp_object_reader *reader, uintptr_t object, const char *name,
                       struct pp_attribute *learnt, uintptr_t *value);

/* Locates the characters of the str object that has this header, `most` bytes of them. async-signal-safe. */
struct pp_str pp_str_find(const struct pp_python_layout *layout, uintptr_t object, const uint8_t *header,
                          uint32_t most);
#define PP_STR_HEADER_MAX 80

/* Locates the characters of what may be no str object; false if it is none. async-signal-safe. */
bool pp_str_open(const struct pp_object_reader *reader, uintptr_t object, uint32_t most, struct pp_str *text);
/* Whether the object is a str with these ASCII characters. async-signal-safe. */
bool pp_str_is(const struct pp_object_reader *reader, uintptr_t object, const char *ascii);

/* Whether the object is of this class or a subclass. async-signal-safe. */
bool pp_object_has_class(const struct pp_object_reader *reader, uintptr_t object, enum pp_class class);

/* Reads an item of a tuple or of a subclass's instance. async-signal-safe. */
bool pp_tuple_item(const struct pp_object_reader *reader, uintptr_t tuple, uintptr_t index, uintptr_t *item);

#endif
