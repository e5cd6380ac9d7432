/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Python's context variables (contextvars) of the running thread, as its context has them now. */
#ifndef PP_CONTEXT_VARS_H
#define PP_CONTEXT_VARS_H

#include "../capture/objects.h"

/* A ContextVar, which is never read in a handler: its address is the key. */
struct pp_context_var {
    uintptr_t address; /* 0: not found */
    uint32_t hash;
};

/* Learns a ContextVar; false if the object is none. For the flush thread. */
bool pp_context_var_find(const struct pp_object_reader *reader, uintptr_t object, struct pp_context_var *var);

/* Finds the variables of the context that the thread runs in, by a copy of its thread state; *vars is 0 if it has no
 * context. *checked: zeroed at first; says that the thread has been seen to have a context where one is expected.
 * async-signal-safe. */
bool pp_context_vars_open(const struct pp_object_reader *reader, const void *thread_state, bool *checked,
                          uintptr_t *vars);

/* Finds the variables of a Context object, as of a task; false if it is none, or has none. async-signal-safe. */
bool pp_context_vars_of(const struct pp_object_reader *reader, uintptr_t py_context, uintptr_t *vars);

/* Reads a variable's value; *value is 0 if it was never set there. async-signal-safe. */
bool pp_context_var_read(const struct pp_object_reader *reader, uintptr_t vars, const struct pp_context_var *var,
                         uintptr_t *value);

#endif
