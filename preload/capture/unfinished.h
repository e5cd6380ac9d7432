/* SPDX-License-Identifier: Apache-2.0 */
/* Writes samples whose native walk needs unwind rows that do not exist yet. Before the handler returns it copies the
 * part of the stack that the rest of the walk may read; the flush thread compiles the rows and walks on over the copy
 * (merge/finish_sample.c).
 *
 *      the stack, addresses upward            the record in the ring (record.h)
 *
 *      stack_top  +-----------------+         +------------------------------------+
 *                 | main            | \       | sample: all but its stacks         |
 *                 | eval frame      |  | ---> | stopped: the registers in parse()  |
 *                 | parse: no rows  | /  |    | native frames that were found      |
 *      copy_start +-----------------+    |    | runs and Python frames             |
 *                 | memcpy: walked  |    +--> | the copy                           |
 *      sp         +-----------------+         +------------------------------------+
 *
 * Of a deep stack the copy has the inner end only. Without room for the least copy the sample is written with what was
 * found, and its stack says "no unwind rows yet". */
#ifndef PP_CAPTURE_UNFINISHED_H
#define PP_CAPTURE_UNFINISHED_H

#include "pairing.h"

/* Writes the sample and a copy of the stack, on which the flush thread continues the native walk: it must be
 * continuable. head: the record but for its stacks. False: there is no room, and nothing was written.
 * async-signal-safe. */
bool pp_sample_write_unfinished(struct pp_slot *slot, const struct pp_record_sample *head,
                                const struct pp_stacks *stacks);

#endif
