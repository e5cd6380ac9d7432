/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps where the tasks wait that await a sample's. Flush thread only. */
#ifndef PP_MERGE_AWAITING_H
#define PP_MERGE_AWAITING_H

#include "code_objects.h"

/* Holds the frames of a task that awaits, the outermost first; number 0: some are left out here. */
struct pp_awaiting {
    uint32_t count;
    struct pp_code_place frames[PP_MAX_AWAITING];
};

/* Takes in what a handler has read of one. */
void pp_awaiting_add(struct pp_slot *slot, struct pp_awaiting *awaiting, const struct pp_record_context *record);

/* Returns the frames of the nth, from 0 on: that which awaits the sample's task; NULL: there is none. */
const struct pp_awaiting *pp_awaiting_find(const struct pp_slot *slot, uint32_t known, unsigned n);

#endif
