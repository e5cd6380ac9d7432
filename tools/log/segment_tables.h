/* How the payloads of blocks become tables: reader.c's other half. */
#ifndef PT_LOG_SEGMENT_TABLES_H
#define PT_LOG_SEGMENT_TABLES_H

#include "cursor.h"
#include "reader.h"

/* Takes in one block's payload, whose CRC was right. False when the type is unknown. Malformed records are counted in
 * segment->losses. */
bool pt_segment_take_block(struct pt_segment *segment, uint32_t type, struct pt_cursor payload,
                           const struct pt_segment_sink *sink);

#endif
