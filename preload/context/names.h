/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what is under a name in the dicts of a running interpreter: what is found was there a moment ago, and no
 * reference to it is held. Entries are copied some at a time, and their names by one system call. Flush thread only. */
#ifndef PP_CONTEXT_NAMES_H
#define PP_CONTEXT_NAMES_H

#include "../capture/objects.h"

#define PP_NAMES_MAX 65536u /* entries searched in sys.modules and in the dict of a module or a class */
#define PP_NAME_MAX  40     /* bytes of a name, its NUL included */

/* What is searched for in a dict: a name, ASCII and shorter than PP_NAME_MAX, or the hash of an int. */
struct pp_wanted {
    const char *name;
    uint64_t hash;
};

struct pp_python_entry {
    uintptr_t address, key, value;
};

/* Finds the first entry of a dict that is wanted, among `most`. */
bool pp_python_dict_find(const struct pp_object_reader *reader, uintptr_t dict, const struct pp_wanted *wanted,
                         uint64_t most, struct pp_python_entry *entry);
/* Finds the value under a name in the dict of a module or a class. */
bool pp_name_find(const struct pp_object_reader *reader, uintptr_t dict, const char *name, uintptr_t *value);
/* Finds the values under these names, from an entry of the dict on: values[] of what is not among these entries stay as
 * they are. */
void pp_names_find(const struct pp_object_reader *reader, uintptr_t dict, uint64_t from, const char *const *names,
                   unsigned count, uintptr_t *values);
/* Reads a str of ASCII characters, NUL-terminated; false for any other object, and for what is too long. */
bool pp_name_read(const struct pp_object_reader *reader, uintptr_t object, char name[PP_NAME_MAX]);

#endif
