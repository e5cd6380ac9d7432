/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the memory that handlers use. A thread's ring and code cache are mapped by its first sample: a thread without
 * samples costs only its slot. Scratch memory belongs to a handler only while it runs, so there are about as many
 * pieces as CPUs. */
#ifndef PP_CAPTURE_SLOT_MEMORY_H
#define PP_CAPTURE_SLOT_MEMORY_H

#include "slot.h"

/* Sets slot->ring, slot->codes and slot->scratch; false if there is no memory. Each mapping is one system call, and a
 * failure undoes no earlier one. async-signal-safe; on the slot's own thread. */
bool pp_slot_memory_begin(struct pp_slot *slot);

/* Maps more memory, for ever and zeroed; NULL if there is none. async-signal-safe. */
void *pp_slot_memory_more(size_t bytes);

/* Releases the scratch memory. async-signal-safe. */
void pp_slot_memory_end(struct pp_slot *slot);

/* Releases the scratch memory of other threads' handlers, which do not exist in the child of fork. Runs there. */
void pp_slot_memory_after_fork(void);

/* Bytes mapped so far; they are never unmapped. async-signal-safe. */
size_t pp_slot_memory_bytes(void);

#endif
