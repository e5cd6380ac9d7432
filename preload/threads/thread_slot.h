/* SPDX-License-Identifier: Apache-2.0 */
/* Binds each thread to its slot, so that the thread finds its slot and its end is noticed. */
#ifndef PP_THREADS_SELF_H
#define PP_THREADS_SELF_H

#include "../capture/slot.h"

/* Has on_end run in a bound thread that ends, whether it returns from its start routine, calls pthread_exit or is
 * cancelled. Returns false if libc lacks a needed function. Call once, before profiling is enabled. */
bool pp_threads_watch_ends(void (*on_end)(struct pp_slot *slot));

/* Binds the calling thread to its slot: on_end will run at its end, and pp_slot_here finds the slot. */
void pp_thread_bind(struct pp_slot *slot);
/* Returns the slot that the calling thread is bound to, else NULL. async-signal-safe. */
struct pp_slot *pp_slot_here(void);

#endif
