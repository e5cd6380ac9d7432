/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the payloads of blocks into the tables of a segment, for reader.c. */
#ifndef PT_LOG_SEGMENT_TABLES_H
#define PT_LOG_SEGMENT_TABLES_H

#include "cursor.h"
#include "reader.h"

/* Holds a payload that a segment refers to and whose file is not in memory. */
struct pt_kept {
    struct pt_kept *before;
    uint8_t payload[];
};
/* Returns a copy, which the list holds. */
const uint8_t *pt_keep(struct pt_kept **list, const void *payload, size_t length);
void pt_free_kept(struct pt_kept **list);

/* Takes in one block's payload, whose CRC was right. False when the type is unknown. Malformed records are counted in
 * segment->losses. */
bool pt_segment_parse_block(struct pt_segment *segment, uint32_t type, struct pt_cursor payload,
                            const struct pt_segment_sink *sink);

/* Decodes the payload of a block of samples, which nearly all of a long log is, and hands them to the sink. */
void pt_segment_parse_samples(struct pt_segment *segment, struct pt_cursor *payload,
                              const struct pt_segment_sink *sink);
void pt_segment_parse_waits(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink);
/* Does the same for a block of samples of traces. */
void pt_segment_parse_traced(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink);

#endif
