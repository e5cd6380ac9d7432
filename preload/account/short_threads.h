/* SPDX-License-Identifier: Apache-2.0 */
/* Credits the CPU time of short threads, which mostly end before their timer has fired, to stacks.
 *
 * A thread that uses T is sampled with probability p(T), at the first kernel tick that it meets: a thread that was
 * sampled represents 1/p(T) threads of its kind. What threads used after their last sample (all of it, if they had
 * none) is credited to stacks that were sampled in threads of the same start routine and about the same T, each stack
 * up to twice its fair part T/p(T), its own weight included, so that a rare stack cannot draw much more than it
 * represents. That p holds for threads that meet the ticks at an unknown phase. Where others want the CPUs, a thread
 * gets its CPU at a tick, from which it has a whole tick to end unseen: of 2,000 threads of 1 ms a seventh was seen of
 * those that are on an idle machine, and three quarters of their CPU found no stack. So threads that were pushed off
 * their CPU, for which p cannot be known, share what was seen of their like, each stack up to PUSHED_PARTS fair parts.
 * Credited time keeps its own thread, is marked PP_STATE_ESTIMATED and summed apart. What finds no stack is
 * [unsampled]. Threads that used more than SHORT_MAX_PERIODS are left out: they have samples.
 *
 * Flush thread only. */
#ifndef PP_ACCOUNT_SHORT_THREADS_H
#define PP_ACCOUNT_SHORT_THREADS_H

#include "../capture/slot.h"
#include <stdbool.h>
#include <stdint.h>

struct pp_ended_thread {
    uintptr_t kind;   /* its start routine */
    uint64_t cpu_ns;  /* T */
    uint64_t tail_ns; /* used after its last sample */
    uint32_t thread;  /* in the log */
    bool pushed_off;  /* its CPU was taken away while it worked */
    uint32_t samples; /* of leaves[] */
    const struct pp_leaf *leaves;
};

/* Adds cpu_ns to a stack of a thread, in the current interval. */
typedef void pp_short_credit(uint32_t thread, struct pp_leaf leaf, uint64_t cpu_ns);

/* Takes an ended thread in. False if it is none of ours: its tail is [unsampled]. */
bool pp_short_threads_end(const struct pp_ended_thread *ended, uint64_t period_ns, uint64_t tick_ns);
/* Credits what can be credited now; forgetting: what is left afterwards goes to `unsampled` (nodes and threads of the
 * segment are about to be forgotten, or the process ends). */
void pp_short_threads_settle(pp_short_credit *credit, void (*unsampled)(uint32_t thread, uint64_t cpu_ns),
                             bool forgetting);
/* Returns the time taken in and neither credited nor given up so far. */
uint64_t pp_short_threads_waiting_ns(void);
void pp_short_threads_reset(void);

#endif
