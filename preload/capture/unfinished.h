/* SPDX-License-Identifier: Apache-2.0 */
/* Writes samples whose native walk needs unwind rows that do not exist yet. */
#ifndef PP_CAPTURE_UNFINISHED_H
#define PP_CAPTURE_UNFINISHED_H

#include "pairing.h"

/* Writes the sample and a copy of the stack, on which the flush thread continues the native walk: it must be
 * continuable. head: the record but for its stacks. False: there is no room, and nothing was written.
 * async-signal-safe. */
bool pp_sample_write_unfinished(struct pp_slot *slot, const struct pp_record_sample *head,
                                const struct pp_stacks *stacks);

#endif
