/* SPDX-License-Identifier: Apache-2.0 */
/* The watchdog repairs timers: it retries, replaces stalled or deleted ones, and applies a new period. A timer that
 * could not be made is tried again (RLIMIT_SIGPENDING is shared with the application and may have room by now); a timer
 * that was deleted by a raw system call, or that does not fire although its thread uses CPU, is replaced by a new timer
 * with another phase; a timer follows another period, and gets another interval when it has fired. Flush thread only.
 */
#ifndef PP_FLUSH_WATCHDOG_H
#define PP_FLUSH_WATCHDOG_H

#include <stdint.h>

/* Checks the timer of every live thread, by the clocks that pp_account_close has just read. overdue_ns: CPU time since
 * a thread's last sample from which on a sample is overdue. Counts into reasons[]. */
void pp_watchdog_check(uint64_t overdue_ns, uint64_t *reasons);

/* Gives a perf event to the threads of a young process whose sample is overdue: work between two ticks would have no
 * sample until the first flush. */
void pp_watchdog_check_young(uint64_t overdue_ns);

#endif
