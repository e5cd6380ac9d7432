/*
 * The memory that handlers work with. A thread's own part, its ring and its code cache, is mapped by its first sample:
 * a thread that never has one costs its slot alone. The scratch memory belongs to a handler only while it runs, so
 * that there are about as many as processors.
 */
#ifndef PP_CAPTURE_SLOT_MEMORY_H
#define PP_CAPTURE_SLOT_MEMORY_H

#include "slot.h"

/* Sets slot->ring, slot->codes and slot->scratch. False if there is no memory to be had. Mapping is one system call,
 * and nothing of it is undone by a failure. async-signal-safe; on the slot's own thread. */
bool pp_slot_memory_begin(struct pp_slot *slot);

/* Gives the scratch memory back. async-signal-safe. */
void pp_slot_memory_end(struct pp_slot *slot);

/* In the child of fork: the handlers of other threads that had scratch memory do not exist here. */
void pp_slot_memory_after_fork(void);

/* Bytes mapped so far, none of which is ever unmapped. async-signal-safe. */
size_t pp_slot_memory_bytes(void);

#endif
