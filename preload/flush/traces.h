/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the samples of selected traces one by one, beside their sums, until they are written. Flush thread only. */
#ifndef PP_FLUSH_TRACES_H
#define PP_FLUSH_TRACES_H

#include "../account/interval_data.h"

/* Takes a sample of the slot that has PP_SELECTED; what exceeds the bound of an interval is counted, and a notice says
 * so. */
void pp_traces_add(const struct pp_slot *slot, const struct pp_sample_key *key, uint64_t unix_ns, uint64_t cpu_ns);
/* Appends the block of the interval's samples, if there are any. */
void pp_traces_write(struct pp_buffer *out, uint32_t *sequence);

/* Makes the timers slow when there was no selected trace for PP_TRACES_PAUSE_NS, and fast again when there is a
 * selected trace. Only with PYPROF_TRACES=…,only. */
void pp_traces_review(uint64_t now_monotonic_ns);
#define PP_TRACES_PAUSE_NS 60000000000u
/* Forgets what was counted, too. Runs in the child of fork. */
void pp_traces_after_fork(void);

#endif
