/* SPDX-License-Identifier: Apache-2.0 */
/* Handles a signal of our timers: takes a sample, leaves it out or counts it as lost. */
#ifndef PP_HANDLER_HANDLER_H
#define PP_HANDLER_HANDLER_H

#include "../capture/slot.h"
#include <signal.h>
#include <ucontext.h>

/* Handles our signal. Installed with SA_SIGINFO | SA_RESTART and all signals blocked. */
void pp_handle_signal(int signal, siginfo_t *info, void *registers);

/* Writes both stacks of the interrupted thread into its ring, or counts a loss in the slot. cpu_ns: the thread's CPU
 * clock at the start of the handler; due_ns: see pp_record_sample. async-signal-safe; bounded by PP_MAX_*. */
void pp_take_sample(struct pp_slot *slot, const ucontext_t *registers, uint64_t cpu_ns, uint64_t due_ns);

/* Counts a sample by its CPU time alone if PYPROF_TRACES=…,only does not select it: then returns true.
 * async-signal-safe; bounded. */
bool pp_count_not_selected(struct pp_slot *slot, uint64_t cpu_ns);

/* Counts a sample at this reading of the thread's CPU clock as lost. async-signal-safe. */
void pp_lose_sample(struct pp_slot *slot, uint64_t cpu_ns);

#endif
