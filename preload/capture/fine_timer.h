/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's fine timer: a high-resolution timer of CLOCK_MONOTONIC that is armed only while the thread may run, so
 * that it expires where CPU timers, which the kernel checks at its ticks, never do: in work that begins after a tick
 * and is over before the next.
 *
 *     wait ends      the sample is due here               wait begins
 *     ----|==============|================================|.............|====
 *         arm: rest      signal: sample, next rest        disarm        arm
 *
 * A round is what a thread does from the end of one wait to the end of the next. A sample is due when the thread has
 * used so much CPU time, drawn from half a period to one and a half: it meets any work in proportion to its CPU time,
 * whatever its phase. The timer is armed with what is left of that, if it is a tick or less and no more than two of the
 * longest rounds; further ahead the thread's CPU timer, which is set to a tick before, arms it at a tick. A thread that
 * others have kept from its CPU has used less when the timer expires: it is armed again with the rest.
 *
 * No system call is interrupted by it: every function of libc by which a thread waits disarms it first
 * (interpose/waits.c). A wait past libc may be met once; if it ends with EINTR, the thread goes back to ticks for good.
 *
 * A wait costs 0.3 us, and 1.4 us more where the timer is armed in it. A thread for which that is more than half of
 * PYPROF_MAX_OVERHEAD has its samples at ticks.
 *
 * All state is the thread's own: its wait functions change it, and its handler, between any two of their instructions.
 * The handler never arms the timer while a wait is under way (`waits`). All functions: async-signal-safe, bounded. */
#ifndef PP_CAPTURE_FINE_TIMER_H
#define PP_CAPTURE_FINE_TIMER_H

#include "slot.h"
#include <ucontext.h>

/* Whether the slot's thread has a fine timer. */
bool pp_fine_is_on(const struct pp_slot *slot);

/* Whether it has ever had one: it may be armed although a perf event has taken over meanwhile. */
static inline bool pp_fine_has_begun(const struct pp_slot *slot)
{
    return slot->thread.fine.random != 0;
}

/* Whether all of its samples come by that. */
bool pp_fine_is_in_use(const struct pp_slot *slot);

/* Begins with a thread, as if it had been running for ever: each moment of its life is as likely to be sampled as any
 * other, however short it is. The calling thread's slot. */
void pp_fine_begin(struct pp_slot *slot);

/* Surround each wait of the calling thread, the slot's. They keep errno. */
void pp_fine_wait_begins(struct pp_slot *slot);
void pp_fine_wait_ends(struct pp_slot *slot);

/* Take the signal of the fine timer and of the CPU timer. cpu_ns: the thread's CPU clock; becomes what it was when the
 * program was interrupted. Return whether the signal becomes a sample. In the handler. */
bool pp_fine_expires(struct pp_slot *slot, const ucontext_t *context, uint64_t *cpu_ns);
bool pp_fine_tick(struct pp_slot *slot, uint64_t cpu_ns);

/* Draws when the next sample is due. cpu_ns: the thread's CPU clock at the sample's end. In the handler. */
void pp_fine_sampled(struct pp_slot *slot, uint64_t cpu_ns);

#endif
