/*
 * Timers that need care. One that could not be made is tried again (RLIMIT_SIGPENDING is shared with the application
 * and may have room by now); one that somebody has deleted, or that does not fire although its thread burns CPU, gives
 * way to a new one, with another phase; one that was set to another period follows. Flush thread only.
 */
#ifndef PP_FLUSH_WATCHDOG_H
#define PP_FLUSH_WATCHDOG_H

#include <stdint.h>

/* Looks at every live thread, by the clocks that pp_account_close has just read. overdue_ns: CPU time since a thread's
 * last sample from which on one is overdue. Counts into reasons[]. */
void pp_watchdog_check(uint64_t overdue_ns, uint64_t *reasons);

#endif
