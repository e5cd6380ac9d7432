/* SPDX-License-Identifier: Apache-2.0 */
/* A second clock for threads that the kernel's ticks miss: perf_event_open(PERF_COUNT_SW_TASK_CLOCK), a timer of high
 * resolution that runs while its thread does. Flush thread only, except for what ends the events.
 *
 * The event signals in the thread's own code only (exclude_kernel): every user may have that up to
 * perf_event_paranoid 2, and no system call of the program is interrupted (with the kernel's part 35 of 51 signals made
 * poll fail by EINTR; PERF's sigtrap, which was not tried, would send SIGTRAP, which ends an image that a raw exec has
 * made meanwhile). The thread's timer stays armed and samples what the kernel does for the thread (handler/due.h).
 *
 * Descriptors. An event lives as long as its descriptor, which is in the flush thread's own table: the program never
 * sees it, and without a table of our own there are no events. Its number is the slot's index and PP_EVENT_FIRST_FD, by
 * which the handler finds the slot; a thread whose number RLIMIT_NOFILE forbids stays with its timer. The table ends
 * with the flush thread: at exec, before a namespace or a right of the program changes, at the end of profiling. No
 * child inherits an event.
 *
 * Signal. Only SIGURG: where the kernel cannot queue a real-time signal of an event it sends SIGIO, which is deadly,
 * and a signal that comes late, in the image after exec or when the program has taken the signal over, must be
 * harmless. A thread that ends the events, before our signal moves or would harm a thread, stores the reason and then
 * reads how many are open. A thread that makes an event counts it and then reads the reason. So at least one of the two
 * sees the other. */
#ifndef PP_THREADS_PERF_CLOCK_H
#define PP_THREADS_PERF_CLOCK_H

#include "../capture/slot.h"
#include <stdbool.h>

/* Finds out whether there may be events, when the flush thread begins. */
void pp_events_begin(void);
/* Forgets the events, when the flush thread ends and its table with it: the timers go on alone. */
void pp_events_forget(void);

/* Gives the thread an event if it is to have one; missed: the ticks miss its work. Keeps an event to the rate, and
 * draws another period for it where the handler has asked for that, as pp_timer_follow does. */
void pp_event_follow(struct pp_slot *slot, bool missed);
/* Closes the event of a thread that has ended. */
void pp_event_close(struct pp_slot *slot);
/* Gives the threads their events whose handlers have asked for them, or that have begun some time before, or ends all
 * events if that is to be. Returns when it is to be called again (CLOCK_MONOTONIC). */
uint64_t pp_events_answer(uint64_t now_ns);
/* Has the calling thread, which begins, get an event if it lives on. Any thread. */
void pp_event_thread_begins(void);

/* Ends all events for good, for this reason (static): the flush thread is to be woken for that, unless it calls this.
 * Any thread. */
void pp_events_tell_end(const char *why);
bool pp_events_are_open(void);
/* Does the same and waits for it, 50 ms at most. Returns whether they have ended: the flush thread may have no CPU. */
bool pp_events_end(const char *why);
extern const char pp_events_need_sigurg[];

/* Forgets the events of the parent in the child of fork. */
void pp_events_after_fork(void);

/* Returns the clock in use and the reason for it, in words; NULL: ticks, as by default. */
const char *pp_events_clock(void);

#endif
