#include "proto.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

static size_t put_varint(unsigned char *bytes, uint64_t value)
{
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (unsigned char)(value | 0x80);
    bytes[length++] = (unsigned char)value;
    return length;
}

static void append_varint(struct pp_buffer *message, uint64_t value)
{
    unsigned char bytes[PP_PROTO_VARINT_BYTES];
    pp_buffer_append(message, bytes, put_varint(bytes, value));
}

static void append_key(struct pp_buffer *message, unsigned field, enum wire wire)
{
    append_varint(message, (uint64_t)field << 3 | wire);
}

void pp_proto_choice(struct pp_buffer *message, unsigned field, uint64_t value)
{
    append_key(message, field, WIRE_VARINT);
    append_varint(message, value);
}

void pp_proto_number(struct pp_buffer *message, unsigned field, uint64_t value)
{
    if (value)
        pp_proto_choice(message, field, value);
}

void pp_proto_fixed64(struct pp_buffer *message, unsigned field, uint64_t value)
{
    unsigned char bytes[sizeof value];
    for (size_t i = 0; i < sizeof bytes; i++, value >>= 8)
        bytes[i] = (unsigned char)value;
    append_key(message, field, WIRE_FIXED64);
    pp_buffer_append(message, bytes, sizeof bytes);
}

void pp_proto_bytes(struct pp_buffer *message, unsigned field, const void *data, size_t length)
{
    append_key(message, field, WIRE_LENGTH);
    append_varint(message, length);
    pp_buffer_append(message, data, length);
}

void pp_proto_append_packed(struct pp_buffer *packed, uint64_t value)
{
    append_varint(packed, value);
}

void pp_proto_numbers(struct pp_buffer *message, unsigned field, const uint64_t *values, size_t count)
{
    unsigned char bytes[PP_PROTO_VARINT_BYTES];
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += put_varint(bytes, values[i]);
    append_key(message, field, WIRE_LENGTH);
    append_varint(message, length);
    for (size_t i = 0; i < count; i++)
        append_varint(message, values[i]);
}

size_t pp_proto_put_header(unsigned char *to, unsigned field, size_t length)
{
    size_t key = put_varint(to, (uint64_t)field << 3 | WIRE_LENGTH);
    return key + put_varint(to + key, length);
}

size_t pp_proto_put_numbers(unsigned char *to, unsigned field, const uint64_t *values, size_t count)
{
    unsigned char bytes[PP_PROTO_VARINT_BYTES];
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += put_varint(bytes, values[i]);
    size_t at = pp_proto_put_header(to, field, length);
    for (size_t i = 0; i < count; i++)
        at += put_varint(to + at, values[i]);
    return at;
}

void pp_gzip_fields(struct pp_gzip *gzip, struct pp_buffer *fields)
{
    pp_gzip_append(gzip, fields->data, fields->length);
    pp_buffer_clear(fields);
}

void pp_gzip_message(struct pp_gzip *gzip, unsigned field, struct pp_buffer *message)
{
    unsigned char header[PP_PROTO_HEADER_BYTES];
    pp_gzip_append(gzip, header, pp_proto_put_header(header, field, message->length));
    pp_gzip_fields(gzip, message);
}
