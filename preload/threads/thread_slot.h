/* Each thread and its slot: a thread finds its own, and its end is noticed. */
#ifndef PP_THREADS_SELF_H
#define PP_THREADS_SELF_H

#include "../capture/slot.h"

/* From here on threads that are made are registered. on_end runs in a registered thread that ends, whether it returns
 * from its start routine, calls pthread_exit or is cancelled. False if libc lacks what is needed. Once. */
bool pp_registering_start(void (*on_end)(struct pp_slot *slot));
/* From here on none is. */
void pp_registering_stop(void);
/* Whether threads are registered. async-signal-safe. */
bool pp_registering(void);

/* Ties the calling thread to its slot: its end is noticed, and pp_slot_here finds the slot. */
void pp_thread_tie(struct pp_slot *slot);
/* The calling thread's slot if it was tied to one, else NULL. async-signal-safe. */
struct pp_slot *pp_slot_here(void);

#endif
