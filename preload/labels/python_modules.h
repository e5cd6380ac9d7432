/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the modules of a running interpreter, and their dicts. Flush thread only. */
#ifndef PP_LABELS_PYTHON_MODULES_H
#define PP_LABELS_PYTHON_MODULES_H

#include "../context/names.h"

/* Returns sys.modules of an interpreter by its PyInterpreterState, 0 if it is not found. */
uintptr_t pp_python_modules(const struct pp_object_reader *reader, uintptr_t interpreter_state);
/* Finds the dict of an imported module. */
bool pp_python_module_dict(const struct pp_object_reader *reader, uintptr_t modules, const char *name, uintptr_t *dict);
/* Finds the dicts of the modules with these names, which are shorter than PP_NAME_MAX, from an entry of
 * sys.modules on. dicts[] of what is not among these entries stay as they are. Returns whether any is. */
bool pp_python_module_dicts(const struct pp_object_reader *reader, uintptr_t modules, uint64_t from,
                            const char *const *names, unsigned count, uintptr_t *dicts);

#endif
