/* Protocol buffers' wire format, as much of it as a writer needs, into a gzip stream. */
#ifndef PT_EXPORT_PROTO_H
#define PT_EXPORT_PROTO_H

#include "../base/memory.h"
#include "gzip.h"

/* Fields of a message are appended to a buffer; a message within a message is a buffer of its own. */
void pt_proto_number(struct pt_buffer *message, unsigned field, uint64_t value); /* nothing when 0, as proto3 says */
void pt_proto_choice(struct pt_buffer *message, unsigned field, uint64_t value); /* the same, 0 too: of a oneof */
void pt_proto_numbers(struct pt_buffer *message, unsigned field, const uint64_t *values, size_t count); /* packed */
/* The same into memory that has room. Returns the length. */
#define PT_PROTO_VARINT_BYTES         10u
#define PT_PROTO_NUMBERS_BYTES(count) ((2 + (count)) * PT_PROTO_VARINT_BYTES)
size_t pt_proto_put_numbers(unsigned char *to, unsigned field, const uint64_t *values, size_t count);
void pt_proto_append_packed(struct pt_buffer *packed, uint64_t value); /* what a pt_proto_bytes then has for numbers */
void pt_proto_fixed64(struct pt_buffer *message, unsigned field, uint64_t value);
void pt_proto_bytes(struct pt_buffer *message, unsigned field, const void *data, size_t length);

/* What stands before a message that is a field. Returns the length. */
#define PT_PROTO_HEADER_BYTES (2 * PT_PROTO_VARINT_BYTES)
size_t pt_proto_put_header(unsigned char *to, unsigned field, size_t length);

/* Writes the message as a field of the outermost one and empties it. */
void pt_gzip_message(struct pt_gzip *gzip, unsigned field, struct pt_buffer *message);
/* Writes fields of the outermost message as they are, and empties the buffer. */
void pt_gzip_fields(struct pt_gzip *gzip, struct pt_buffer *fields);

#endif
