/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the wire format of protocol buffers. */
#ifndef PT_BASE_PROTO_H
#define PT_BASE_PROTO_H

#include "memory.h"

/* Appends a number in base 128, as packed fields have them. */
void pt_append_varint(struct pt_buffer *bytes, uint64_t value);

/* Fields of a message are appended to a buffer; a message within a message is a buffer of its own. */
void pt_proto_number(struct pt_buffer *message, unsigned field, uint64_t value); /* nothing when 0, as proto3 says */
void pt_proto_choice(struct pt_buffer *message, unsigned field, uint64_t value); /* of a oneof: 0 is written too */
void pt_proto_numbers(struct pt_buffer *message, unsigned field, const uint64_t *values, size_t count); /* packed */
void pt_proto_fixed64(struct pt_buffer *message, unsigned field, uint64_t value);
void pt_proto_fixed64s(struct pt_buffer *message, unsigned field, const uint64_t *values, size_t count); /* packed */
void pt_proto_bytes(struct pt_buffer *message, unsigned field, const void *data, size_t length);
void pt_proto_text(struct pt_buffer *message, unsigned field, const char *text);
/* Appends what precedes the bytes of a field. */
void pt_proto_header(struct pt_buffer *message, unsigned field, size_t length);
/* Appends a message as a field, and empties its buffer. */
void pt_proto_message(struct pt_buffer *to, unsigned field, struct pt_buffer *message);

#endif
