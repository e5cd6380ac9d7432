/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the Python frames of the interpreters that called the interpreter that the thread runs. */
#ifndef PP_CAPTURE_CALLING_INTERPRETERS_H
#define PP_CAPTURE_CALLING_INTERPRETERS_H

#include "pairing.h"
#include "thread_state.h"

/* Whether the state is a subinterpreter's. Since 3.11 the main interpreter is a part of the runtime. async-signal-safe.
 */
static inline bool pp_runs_subinterpreter(const struct pp_thread_state *state, const struct pp_python_stack *stack)
{
    const struct pp_python *python = state->python;
    uintptr_t interpreter = pp_word(state->memory, python->layout.thread_state.interp);
    return stack->counted ? stack->subinterpreter
                          : interpreter - python->module_start >= python->module_end - python->module_start;
}

/* Appends their frames to the stack of a subinterpreter, which was walked whole on the thread's own C stack, as far as
 * they are certain: by its markers a run must be further out than those before. Returns false if the ring has no room.
 * Overwrites scratch->python and scratch->thread_state. async-signal-safe: reads all but the C stack through safe
 * copies; bounded. */
bool pp_calling_interpreters_add(const struct pp_thread_state *state, struct pp_slot *slot, struct pp_stacks *stacks);

#endif
