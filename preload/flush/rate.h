/* SPDX-License-Identifier: Apache-2.0 */
/* Sets how often samples are taken: less often than configured if they cost too much (throttle.h). Flush thread only.
 */
#ifndef PP_FLUSH_RATE_H
#define PP_FLUSH_RATE_H

#include "../account/account.h"
#include <stdbool.h>
#include <stdint.h>

/* Prepares for a flush thread that begins; first: in this process. */
void pp_rate_start(bool first);
/* Sets whether each sample wakes the flush thread. */
void pp_rate_wake_by_samples(bool each);
/* Decides on the rate by what the process and its handlers have used since the start. Returns whether pp_rate_change is
 * to be called, once all samples are taken from the rings: they are weighed by the rate at which they were taken. */
bool pp_rate_review(uint64_t cpu_ns, struct pp_handlers handlers);
void pp_rate_change(void);
/* Has samples taken at this period, or at the throttle's longer one; 0: PYPROF_HZ's. Takes the rings empty. */
void pp_rate_want(uint64_t period_ns);

#endif
