/* SPDX-License-Identifier: Apache-2.0 */
/* Moves samples and the ends of threads from the rings into the interval, and accounts for their CPU time. Flush thread
 * only. */
#ifndef PP_FLUSH_DRAIN_H
#define PP_FLUSH_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

/* What a sample may weigh follows from the period, the longest one that is still in use, and the kernel's tick. */
void pp_drain_set_period(uint64_t period_ns);
/* CPU time since a thread's last sample beyond which no sample weighs it whole. */
uint64_t pp_drain_bound_ns(void);
/* Reads the modules again if they have changed; returns whether they have. */
bool pp_drain_refresh_modules(void);
/* Is called after another change of the modules: addresses may mean something else now. */
void pp_drain_modules_changed(void);
/* Empties every ring; the slots of threads that have ended are free again, once the kernel has taken them down. final:
 * the process ends and nothing waits. */
void pp_drain(bool final);
/* Gives what short threads used to stacks of threads like them; forgetting: ids of the segment are about to end. */
void pp_drain_settle(bool forgetting);
/* Accounts for what live threads have used since their last samples, when the process ends. */
void pp_drain_rest(void);

#endif
