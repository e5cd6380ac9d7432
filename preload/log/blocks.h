/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes the log's blocks (log_format.h) into growing buffers in our own mappings. Flush thread only. */
#ifndef PP_LOG_BLOCKS_H
#define PP_LOG_BLOCKS_H

#include "../common/log_format.h"
#include <stdbool.h>
#include <stddef.h>

struct pp_buffer {
    uint8_t *data;
    size_t length, capacity;
    bool failed; /* no memory: later bytes are missing */
};

void pp_put_bytes(struct pp_buffer *buffer, const void *bytes, size_t length);
void pp_put_varint(struct pp_buffer *buffer, uint64_t value);
void pp_put_svarint(struct pp_buffer *buffer, int64_t value);
/* Begins the payload of a definition block, if it is empty, with the id of its first record. */
void pp_block_start(struct pp_buffer *buffer, uint32_t id);
/* Put a record's length before it: begin, put the fields, end with what begin returned. */
size_t pp_record_begin(struct pp_buffer *buffer);
void pp_record_end(struct pp_buffer *buffer, size_t begun);
/* Puts {key, length, bytes}. */
void pp_put_field(struct pp_buffer *buffer, unsigned key, const void *bytes, size_t length);
void pp_put_number_field(struct pp_buffer *buffer, unsigned key, uint64_t value);
/* Appends a whole block, header and CRC, with the payload to `out`. */
void pp_put_block(struct pp_buffer *out, enum pp_log_block type, const struct pp_buffer *payload, uint32_t *sequence);
/* Empties the buffer and keeps its memory. */
void pp_buffer_clear(struct pp_buffer *buffer);

#endif
