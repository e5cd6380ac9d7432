/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps one slot per thread of the host. Slots are claimed and given back under a lock that no handler takes.
 * capture/slot.h describes the life of a slot. */
#ifndef PP_THREADS_REGISTRY_H
#define PP_THREADS_REGISTRY_H

#include "../capture/capture.h"
#include "timers.h"

/* Claims a slot for a thread that is about to be made. Returns NULL if there is none, and counts that, or if this
 * process is not profiled (any more). Normal context. */
struct pp_slot *pp_slot_claim(void);
/* Warns once that some threads have no slot or no memory and are not sampled. Normal context. */
void pp_threads_warn_too_many(void);
/* Gives back a slot that is claimed, or that has ENDED and was drained. */
void pp_slot_release(struct pp_slot *slot);

/* Tells how many bytes of stack the claimed slot's thread will have, before it begins. A thread with too few for a
 * signal never gets a timer. */
void pp_thread_has_stack(struct pp_slot *slot, size_t room);
/* Gives a claimed slot to the calling thread: binds the thread to it, sets the bounds of its stack, unblocks our signal
 * and arms the timer. Releases the slot if profiling has ended, or if the thread has another: a handler has forked in
 * it. stack_top: the first address above the stack, 0 if unknown. stack_low: the lowest address, 0 if unknown. */
void pp_thread_begin(struct pp_slot *slot, uintptr_t stack_low, uintptr_t stack_top);
/* Does so with a claimed slot, whose stack bounds are set, for a thread that libc does not know. The first signal
 * finds the thread's TLS, if there is any. */
void pp_thread_begin_bare(struct pp_slot *slot);
/* Takes our signal out of the calling thread's mask; the slot notes whether it was blocked, as the program believes. */
void pp_thread_unblock(struct pp_slot *slot);
/* Makes a claimed slot whose tid is set LIVE, with a timer if the thread may have one and it can be made. */
void pp_thread_arm(struct pp_slot *slot, enum pp_first_expiry first);
/* Counts and warns, once per thread, that our signal does not reach the slot's thread: enum pp_timer_life says why, or
 * the thread blocks our signal without calling libc. Flush thread only: it takes more stack than some threads have. */
void pp_thread_unreachable(struct pp_slot *slot);
/* Deletes the calling thread's timer for good, because our signal would harm the thread from now on. */
void pp_thread_never_arm(void);
/* Ends the calling thread's slot, unless it has another since a fork: deletes the timer, notes the CPU clock, leaves
 * the slot to the flush thread. */
void pp_thread_end(struct pp_slot *slot);

/* Leaves the CPU time before cpu_ns, on the clock of the claimed slot's thread, out of the sums. */
void pp_slot_begin_at(struct pp_slot *slot, uint64_t cpu_ns);

/* Returns whether the program is known to have a thread besides the caller; python: a thread that has run Python. */
bool pp_other_threads(bool python);

/* Returns whether no handler runs and no thread begins or ends its slot: once pp_process.silent is set, threads of the
 * program make no system call of ours from here on. */
bool pp_threads_quiet(void);
/* Returns whether no handler is running. If so, no handler holds what was unpublished before the call. */
bool pp_handlers_quiet(void);

/* Releases all slots but the claimed, and the lock, in the child of fork. */
void pp_registry_after_fork(void);

#endif
