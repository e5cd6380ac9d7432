/* Protocol buffers' wire format, as much of it as a writer needs, into a gzip stream. */
#ifndef PP_EXPORT_PROTO_H
#define PP_EXPORT_PROTO_H

#include "../memory.h"
#include "gzip.h"

/* Fields of a message are appended to a buffer; a message within a message is a buffer of its own. */
void pp_proto_number(struct pp_buffer *message, unsigned field, uint64_t value); /* nothing when 0, as proto3 says */
void pp_proto_choice(struct pp_buffer *message, unsigned field, uint64_t value); /* the same, 0 too: of a oneof */
void pp_proto_numbers(struct pp_buffer *message, unsigned field, const uint64_t *values, size_t count); /* packed */
/* The same into memory that has room. Returns the length. */
#define PP_PROTO_VARINT_BYTES         10u
#define PP_PROTO_NUMBERS_BYTES(count) ((2 + (count)) * PP_PROTO_VARINT_BYTES)
size_t pp_proto_put_numbers(unsigned char *to, unsigned field, const uint64_t *values, size_t count);
void pp_proto_append_packed(struct pp_buffer *packed, uint64_t value); /* what a pp_proto_bytes then has for numbers */
void pp_proto_fixed64(struct pp_buffer *message, unsigned field, uint64_t value);
void pp_proto_bytes(struct pp_buffer *message, unsigned field, const void *data, size_t length);

/* What stands before a message that is a field. Returns the length. */
#define PP_PROTO_HEADER_BYTES (2 * PP_PROTO_VARINT_BYTES)
size_t pp_proto_put_header(unsigned char *to, unsigned field, size_t length);

/* Writes the message as a field of the outermost one and empties it. */
void pp_gzip_message(struct pp_gzip *gzip, unsigned field, struct pp_buffer *message);
/* Writes fields of the outermost message as they are, and empties the buffer. */
void pp_gzip_fields(struct pp_gzip *gzip, struct pp_buffer *fields);

#endif
