/* Ties each thread to its slot, so that the thread finds its slot and its end is noticed. */
#ifndef PP_THREADS_SELF_H
#define PP_THREADS_SELF_H

#include "../capture/slot.h"

/* Begins to register new threads. on_end runs in a registered thread that ends, whether it returns from its start
 * routine, calls pthread_exit or is cancelled. Returns false if libc lacks a needed function. Call once. */
bool pp_registering_start(void (*on_end)(struct pp_slot *slot));
/* Stops registering new threads. */
void pp_registering_stop(void);
/* Returns whether new threads are registered. async-signal-safe. */
bool pp_registering(void);

/* Ties the calling thread to its slot: on_end will run at its end, and pp_slot_here finds the slot. */
void pp_thread_tie(struct pp_slot *slot);
/* Returns the slot that the calling thread is tied to, else NULL. async-signal-safe. */
struct pp_slot *pp_slot_here(void);

#endif
