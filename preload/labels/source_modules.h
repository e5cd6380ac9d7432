/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the modules of Python by whose dicts the sources of contexts are found: enum pp_source_module, and those that
 * rows of pp_sources and their functions name. Flush thread only. */
#ifndef PP_LABELS_SOURCE_MODULES_H
#define PP_LABELS_SOURCE_MODULES_H

#include "../context/facts.h"
#include "../context/names.h"

#define PP_SOURCE_MODULES 128 /* at most */

/* Returns the names, in the order of arrays of modules' dicts. */
const char *const *pp_source_module_names(unsigned *count);
/* Returns the dict of the module that a function's file is, or that comes before the colon of "module:name" or is all
 * of the text. modules: dicts in that order; 0: it is not imported, or not in the list. */
uintptr_t pp_source_module(const uintptr_t *modules, const char *text);
uintptr_t pp_source_module_of(const uintptr_t *modules, const struct pp_function *function);
/* Puts the name of the module that a function's file is into `name`. */
void pp_source_module_name(const struct pp_function *function, char name[PP_NAME_MAX]);

#endif
