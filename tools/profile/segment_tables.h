/* How the payloads of blocks become tables: reader.c's other half. */
#ifndef PP_PROFILE_SEGMENT_TABLES_H
#define PP_PROFILE_SEGMENT_TABLES_H

#include "cursor.h"
#include "reader.h"

/* Takes in one block's payload, whose CRC was right. False when the type is unknown. Malformed records are counted in
 * segment->losses. */
bool pp_segment_take_block(struct pp_segment *segment, uint32_t type, struct pp_cursor payload,
                           const struct pp_segment_sink *sink);

#endif
