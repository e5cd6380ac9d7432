/* SPDX-License-Identifier: Apache-2.0 */
/* Arms per-thread CPU-time timers. Any thread may arm the timer of any other by its tid. Normal context.
 *
 * slot->timer is one word that says all of a timer's life: the kernel's id while the timer is armed, else enum
 * pp_timer_life. The word changes by compare-and-exchange only:
 *
 * - NONE -> id: a thread that has made a timer puts its id in. The slot's thread and the watchdog may both do so: the
 *   loser deletes its own timer.
 * - id -> NONE: the thread that takes the id out deletes the timer, so each timer is deleted once.
 * - id or NONE -> ENDED, UNREACHABLE or SMALL_STACK: the thread ends, or must never get a signal. These are final: a
 *   timer that the flush thread was making meanwhile finds one of them in place of NONE, and is deleted. So no timer
 *   outlives its thread.
 *
 * A thread that changes our signal (threads/signal.c) stores it and then renews every timer. A thread that makes a
 * timer puts the id in and then reads the signal again. So at least one of the two sees the other. The end of profiling
 * (pp_process.silent, then disarm) and a pause (pp_capture.stopped, then disarm) go the same way. */
#ifndef PP_THREADS_TIMERS_H
#define PP_THREADS_TIMERS_H

#include "../capture/slot.h"
#include <stdbool.h>

enum pp_first_expiry {
    /* For a thread that begins now: the first sample comes at the first kernel tick of the thread, a random moment of
     * its life. Most short threads would end before a random moment of the period. */
    PP_FIRST_TICK,
    /* For a thread that has been running: the first sample is uniformly random in (0, period]. */
    PP_FIRST_RANDOM,
    /* For a timer that gets another interval: the next sample comes when it was due, so that none is put off. */
    PP_FIRST_AS_DUE,
};

#define PP_TIMER_SLOW_NS 1000000000u
#define PP_TIMER_OFF_MAX 100u /* by which an interval differs from the period, in permille of it */

/* Creates the slot's timer on its tid's CPU clock. The interval is 5 to 10 % longer or shorter than the period, so that
 * work that repeats after one period, or a few, is met at another point each time: 100 samples go round it five times.
 * Work that repeats after just the interval is met at one point until the flush thread draws another (a sample weighs
 * what the thread has used, so the sums do not care). A thread with a perf event has a signal at each tick
 * (handler/due.h). Returns 0 or an errno: EAGAIN also when half of RLIMIT_SIGPENDING
 * is taken. 0 without a timer where the thread is to have none, or while pp_capture.stopped. */
int pp_timer_arm(struct pp_slot *slot, enum pp_first_expiry first);

/* Deletes the slot's timer, if it has one. life: NONE, or why the slot never gets a timer again (the first reason
 * stays). Not for the child of fork: timers are not inherited, and the id may be a new timer's. */
void pp_timer_disarm(struct pp_slot *slot, enum pp_timer_life life);

/* Forgets all timers in the child of fork, which does not inherit them. */
void pp_timers_after_fork(void);

/* Returns the CPU time in ns between two samples of a thread that is asked for: PYPROF_HZ's, or `pyprof ctl rate`'s. */
uint64_t pp_timers_wanted_ns(void);
/* Sets what is asked for, in the children of fork, too; 0: PYPROF_HZ's. */
void pp_timers_want_ns(uint64_t period_ns);
/* Returns the CPU time in ns between two samples of a thread: what is asked for, or the longer time of the throttle. */
uint64_t pp_timers_period_ns(void);
/* Returns the CPU time in ns between two signals of a timer: that, or PP_TIMER_SLOW_NS while no trace is sampled that
 * PYPROF_TRACES=…,only selects. */
uint64_t pp_timers_interval_ns(void);
/* Sets the period for timers that are armed from now on; pp_timer_follow updates the others. */
void pp_timers_set_period_ns(uint64_t period_ns);

/* Returns the longest interval that a timer of this period has. */
static inline uint64_t pp_timer_longest_ns(uint64_t period_ns)
{
    return period_ns + period_ns * PP_TIMER_OFF_MAX / 1000;
}

/* Returns an interval by a random number: 5 to 10 % longer or shorter than the current one. */
uint64_t pp_timer_draw_ns(uint64_t random);

/* Updates the slot's timer to the current interval; sampled: draws another of the same length, too. Flush thread only.
 */
void pp_timer_follow(struct pp_slot *slot, bool sampled);

/* Replaces a timer that does not fire, that could not be made, or that sends another signal. Returns 0 or an errno. */
int pp_timer_renew(struct pp_slot *slot);

#endif
