/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the frames in which the coroutines of a task are suspended: what it awaits, and in which lines. */
#ifndef PP_CONTEXT_SUSPENDED_H
#define PP_CONTEXT_SUSPENDED_H

#include "context.h"

/* Learns what the Python module puts around a coroutine that it measures; zeroed if it is not imported. For the flush
 * thread. */
void pp_suspended_find(const struct pp_object_reader *reader, const uintptr_t *modules,
                       struct pp_member *counted_steps);

/* Returns whether the frame, of a generator or coroutine, is suspended: what has ended has locals that are gone. *next:
 * the frame that it awaits; 0: it awaits no coroutine, or what is not known. async-signal-safe. */
bool pp_suspended_step(const struct pp_context_reader *reader, uintptr_t frame, uintptr_t *next);

/* Reads the frames of a task that awaits another one into scratch->awaiting_resolved, and what the context says of
 * them. Of many the outermost and the innermost. Returns false if the ring has no room. async-signal-safe. */
bool pp_suspended_read(const struct pp_context_reader *reader, uintptr_t task, struct pp_context *context);

/* Returns what their record is valid for: it is put again with the code objects' definitions. async-signal-safe. */
static inline uintptr_t pp_suspended_epoch(const struct pp_slot *slot)
{
    return slot->code_epoch;
}

#endif
