/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which signals of a thread become samples, and what these represent.
 *
 * A thread with a perf event has two clocks (threads/perf_clock.h). The event's timer expires after each period of the
 * thread's CPU time and signals if the thread runs its own code then; in the kernel the expiry is lost. So the kernel
 * had what the thread has used since the event's last signal, less the period of that signal: it is measured. Which
 * system call or page fault that was only a tick can tell, whose signal comes when the kernel returns to the caller.
 * Hence every tick signals; once in a period it counts, and if it was in the kernel it becomes a sample. That
 * represents the time since the tick that counted before it, as samples by ticks do, corrected by what the event has
 * measured: ticks meet too little or too much of the kernel's work by chance. Other ticks are dropped.
 *
 * A thread may work in step with the ticks: they meet it at the same place of each of its rounds (a function that runs
 * 0.5 ms after each wake-up had twice its CPU time, as all system calls were given to it), or seldom. The event's
 * signals, which know nothing of ticks, are spread evenly between two ticks unless it does. Where they are not, a tick
 * in the kernel represents the part of the thread's time that it spends at that phase.
 *
 * So there are as many samples as the thread has periods, whatever the kernel's part. What ticks never meet, system
 * calls in step with them, becomes [unsampled] (account/account.c). */
#ifndef PP_HANDLER_DUE_H
#define PP_HANDLER_DUE_H

#include "../capture/slot.h"
#include <ucontext.h>

/* CPU time in the kernel that waits for a tick that meets it, at most: so many times pp_capture.overdue_ns. A tick in
 * the thread's own code becomes a sample when the thread had none for as long: the event's signals are lost. */
#define PP_KEPT_TIMES 4u

struct pp_signal {
    bool event; /* of the perf event, not of the timer */
    const ucontext_t *registers;
    uint64_t cpu_ns; /* the thread's CPU clock */
    uint64_t now_ns; /* CLOCK_MONOTONIC: ticks are multiples of pp_capture.tick_ns apart; 0: the thread has no event */
};

/* Returns whether the signal becomes a sample. Sets *due_ns to what it represents, 0: all since the sample before.
 * async-signal-safe; bounded. */
bool pp_is_due(struct pp_slot *slot, const struct pp_signal *signal, uint64_t *due_ns);

/* Asks the flush thread for an event for the slot's thread, or for another period of its event. async-signal-safe. */
void pp_ask_for_event(struct pp_slot *slot);

#endif
