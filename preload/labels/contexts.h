/* SPDX-License-Identifier: Apache-2.0 */
/* Turns what handlers have read of a sample's contexts into its label set. Flush thread only. */
#ifndef PP_LABELS_CONTEXTS_H
#define PP_LABELS_CONTEXTS_H

#include "../capture/slot.h"

#define PP_TRACE_IDS_BYTES    24
#define PP_CONTEXT_TEXT_BYTES 160 /* of a name in UTF-8, a NUL included */

/* Takes in what a handler has read: what the samples that follow in the ring belong to. */
void pp_contexts_consume(struct pp_slot *slot, const struct pp_record_context *record);
/* Returns the label set of a sample of the slot in the log's current segment, 0: none. known: bits of the kinds that
 * the handler could read. */
uint32_t pp_contexts_labels(struct pp_slot *slot, uint32_t known);
/* Returns the ids of the trace and the span of a sample of the slot that has PP_SELECTED, as the log has them. */
void pp_contexts_trace(const struct pp_slot *slot, uint8_t ids[PP_TRACE_IDS_BYTES]);

#endif
