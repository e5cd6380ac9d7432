/* SPDX-License-Identifier: Apache-2.0 */
/* The gate keeps forks apart from what the flush thread does inside libc or the loader. */
#ifndef PP_FLUSH_FORK_GATE_H
#define PP_FLUSH_FORK_GATE_H

/* Keeps forks out while the flush thread is inside libc or the loader, between enter and leave; a fork waits for a
 * bounded time only. Any number of threads may fork at once; the parent calls begins and ends in pairs. */
void pp_fork_gate_enter(void);
void pp_fork_gate_leave(void);
void pp_fork_gate_fork_begins(void);
void pp_fork_gate_fork_ends(void);

#endif
