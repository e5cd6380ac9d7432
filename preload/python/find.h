/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the interpreters of this process; how they lay out their structures is in cpython/. */
#ifndef PP_PYTHON_FIND_H
#define PP_PYTHON_FIND_H

#include "../capture/python.h"
#include <stdbool.h>

/* Finds the next interpreter among the loaded objects; returns false if there is no further interpreter. Fills *python
 * except for its index. *why: NULL, or why its stacks cannot be read, a static string; then only the version is valid.
 * A readable interpreter stays loaded from then on. An interpreter that neither runs nor starts is passed over and may
 * be found later. Normal context, one thread at a time; cheap when nothing was loaded since a call that found none.
 */
bool pp_python_find(struct pp_python *python, const char **why);

/* Reports that the interpreter with this address in its code starts. Any thread. */
void pp_python_starts(uintptr_t code);

#endif
