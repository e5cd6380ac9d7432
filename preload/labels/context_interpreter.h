/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the interpreter whose sources of contexts are read, and notices that another one has some. Flush thread only.
 */
#ifndef PP_LABELS_CONTEXT_INTERPRETER_H
#define PP_LABELS_CONTEXT_INTERPRETER_H

#include "../capture/python.h"

/* Returns the state of an interpreter in which a thread was sampled: the known interpreter, as long as there are
 * samples in it. While no interpreter is known to have sources each has its turn. *python is NULL if there is none. */
uintptr_t pp_context_interpreter(const struct pp_python **python);

/* Searches another interpreter that was sampled than the chosen one for modules of sources, now and then. Returns
 * whether it has some, and that was not known. */
bool pp_context_other_search(uintptr_t chosen);
/* Returns whether another interpreter was found to have sources, which are not read. */
bool pp_context_other_is_unread(void);

#endif
