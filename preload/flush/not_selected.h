/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts for samples that PYPROF_TRACES=…,only does not select: they become [not selected]. Flush thread only. */
#ifndef PP_FLUSH_NOT_SELECTED_H
#define PP_FLUSH_NOT_SELECTED_H

#include "../capture/slot.h"

/* Accounts for what the slot's handlers have not selected since the last call, which comes after its ring is empty. */
void pp_not_selected_consume(struct pp_slot *slot, bool ended);

/* Leaves to a thread's next sample at most a period: what the thread used before, while timers were slow, is [not
 * selected]. sample: a copy of the sample's head. */
void pp_not_selected_before(struct pp_slot *slot, uint32_t thread, uint64_t period_ns, struct pp_record_sample *sample);

/* Adds to the [not selected] time of a thread. */
void pp_not_selected_add(uint32_t thread, uint32_t state, uint64_t samples, uint64_t cpu_ns);

#endif
