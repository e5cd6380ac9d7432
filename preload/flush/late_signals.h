/* Signals that come while the account is made at the end of the process. */
#ifndef PP_FLUSH_LATE_SIGNALS_H
#define PP_FLUSH_LATE_SIGNALS_H

#include <stdint.h>

struct pp_late_signals {
    uint64_t mask, pending; /* of the calling thread, as they were */
};

/* Holds signals back from the calling thread, but for those of its own faults and of libc's. async-signal-safe. */
struct pp_late_signals pp_late_signals_hold(void);

/* Lets those through that the program has something for, and those that were there before. What would only end the
 * process in place of the end that it is at stays held back. async-signal-safe. */
void pp_late_signals_let(const struct pp_late_signals *held);

#endif
