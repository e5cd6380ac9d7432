/*
 * The registry: one slot per thread of the host. Slots are claimed and given back under a lock that no handler takes.
 * See capture/slot.h for a slot's life.
 */
#ifndef PP_THREADS_H
#define PP_THREADS_H

#include "../capture/capture.h"
#include "timers.h"

/* A slot for a thread that is about to be made, or NULL (counted). Normal context. */
struct pp_slot *pp_slot_claim(void);
/* Says once that threads go without a slot or without memory. Normal context. */
void pp_threads_warn_too_many(void);
/* Gives back a slot that is claimed, or that has ENDED and was drained. */
void pp_slot_release(struct pp_slot *slot);

/* Before a claimed slot's thread begins, where that is known: bytes of stack that are left to the thread. A thread with
 * too few for a signal never gets a timer. */
void pp_thread_has_stack(struct pp_slot *slot, size_t room);
/* The calling thread takes a claimed slot: bounds of its stack, signal unblocked, timer armed.
 * stack_top: first address above its stack, 0 if unknown. stack_low: its lowest one; 0: any below the top may be it. */
void pp_thread_begin(struct pp_slot *slot, uintptr_t stack_low, uintptr_t stack_top);
/* The calling thread, which libc does not know, takes a claimed slot: its stack's bounds are set, its first signal
 * finds its TLS, if it has any. */
void pp_thread_begin_bare(struct pp_slot *slot);
/* Takes our signal out of the calling thread's mask; if it was there, the thread believes to block it. */
void pp_thread_unblock(struct pp_slot *slot);
/* Makes a claimed slot whose tid is set LIVE, with a timer if the thread may have one and it can be made. */
void pp_thread_arm(struct pp_slot *slot, enum pp_first_expiry first);
/* No signal of ours reaches the slot's thread: enum pp_timer_life says why, or the thread blocks our signal past libc.
 * Counts and warns, once for each thread. Flush thread only: it takes more stack than some threads have. */
void pp_thread_unreachable(struct pp_slot *slot);
/* From here on a signal of ours would harm the calling thread: its timer goes for good. */
void pp_thread_never_arm(void);
/* The calling thread ends: its timer goes, its clock is noted. The slot belongs to the flush thread from here on. */
void pp_thread_end(struct pp_slot *slot);

/* What the thread of a claimed slot had used when its CPU clock read this is outside the sums. */
void pp_slot_begin_at(struct pp_slot *slot, uint64_t cpu_ns);

/* In the child of fork, for all of threads/: no slot has a thread, nor a timer; no lock is held. */
void pp_threads_after_fork(void);

/* Whether the program has a thread besides the caller, as far as known; python: a thread that has run Python. */
bool pp_other_threads(bool python);

/* Whether no handler is at work: what a handler that begins now does not find, no handler holds. */
bool pp_handlers_quiet(void);

/* How often something of enum pp_reason happened outside handlers (timers refused, no slot). */
extern _Atomic uint64_t pp_thread_reasons[PP_REASON_COUNT];

#endif
