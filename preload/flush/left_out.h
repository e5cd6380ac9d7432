/* SPDX-License-Identifier: Apache-2.0 */
/* Takes in the CPU time of what PYPROF_TRACES=…,only leaves out: it becomes [not selected]. Flush thread only. */
#ifndef PP_FLUSH_LEFT_OUT_H
#define PP_FLUSH_LEFT_OUT_H

#include "../capture/slot.h"

/* Takes what the slot's handlers have left out since the last time. After its ring is empty. */
void pp_left_out_take(struct pp_slot *slot, bool ended);

/* Leaves to a thread's next sample at most a period: what the thread used before, while timers were slow, is [not
 * selected]. sample: a copy of the sample's head. */
void pp_left_out_before(struct pp_slot *slot, uint32_t thread, uint64_t period_ns, struct pp_record_sample *sample);

/* Adds to the [not selected] time of a thread. */
void pp_left_out_add(uint32_t thread, uint32_t state, uint64_t samples, uint64_t cpu_ns);

#endif
