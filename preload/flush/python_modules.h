/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the dicts of a running interpreter: what is found was there a moment ago, and no reference to it is held.
 * Flush thread only. */
#ifndef PP_FLUSH_PYTHON_MODULES_H
#define PP_FLUSH_PYTHON_MODULES_H

#include "../context/objects.h"

#define PP_NAMES_MAX 65536u /* entries searched in sys.modules and in the dict of a module */

/* What is searched for in a dict: a str shorter than PP_MODULE_NAME_MAX, or the hash of an int. */
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
bool pp_python_dict_named(const struct pp_object_reader *reader, uintptr_t dict, const char *name, uint64_t most,
                          uintptr_t *value);

/* Returns sys.modules of an interpreter by its PyInterpreterState, 0 if it is not found. */
uintptr_t pp_python_modules(const struct pp_object_reader *reader, uintptr_t interpreter_state);
/* Finds the dict of an imported module. */
bool pp_python_module_dict(const struct pp_object_reader *reader, uintptr_t modules, const char *name, uintptr_t *dict);
/* Finds the dicts of the modules with these names, which are shorter than PP_MODULE_NAME_MAX, from an entry of
 * sys.modules on. dicts[] of what is not among these entries stay as they are. */
void pp_python_module_dicts(const struct pp_object_reader *reader, uintptr_t modules, uint64_t from,
                            const char *const *names, unsigned count, uintptr_t *dicts);
#define PP_MODULE_NAME_MAX 40
/* Reads a str of ASCII characters, NUL-terminated; false for any other object, and for what is too long. */
bool pp_python_name(const struct pp_object_reader *reader, uintptr_t object, char name[PP_MODULE_NAME_MAX]);

#endif
