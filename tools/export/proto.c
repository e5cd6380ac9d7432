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

static void append_varint(struct pt_buffer *message, uint64_t value)
{
    unsigned char bytes[PT_PROTO_VARINT_BYTES];
    pt_buffer_append(message, bytes, put_varint(bytes, value));
}

static void append_key(struct pt_buffer *message, unsigned field, enum wire wire)
{
    append_varint(message, (uint64_t)field << 3 | wire);
}

void pt_proto_choice(struct pt_buffer *message, unsigned field, uint64_t value)
{
    append_key(message, field, WIRE_VARINT);
    append_varint(message, value);
}

void pt_proto_number(struct pt_buffer *message, unsigned field, uint64_t value)
{
    if (value)
        pt_proto_choice(message, field, value);
}

void pt_proto_fixed64(struct pt_buffer *message, unsigned field, uint64_t value)
{
    unsigned char bytes[sizeof value];
    for (size_t i = 0; i < sizeof bytes; i++, value >>= 8)
        bytes[i] = (unsigned char)value;
    append_key(message, field, WIRE_FIXED64);
    pt_buffer_append(message, bytes, sizeof bytes);
}

void pt_proto_bytes(struct pt_buffer *message, unsigned field, const void *data, size_t length)
{
    append_key(message, field, WIRE_LENGTH);
    append_varint(message, length);
    pt_buffer_append(message, data, length);
}

void pt_proto_append_packed(struct pt_buffer *packed, uint64_t value)
{
    append_varint(packed, value);
}

void pt_proto_numbers(struct pt_buffer *message, unsigned field, const uint64_t *values, size_t count)
{
    unsigned char bytes[PT_PROTO_VARINT_BYTES];
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += put_varint(bytes, values[i]);
    append_key(message, field, WIRE_LENGTH);
    append_varint(message, length);
    for (size_t i = 0; i < count; i++)
        append_varint(message, values[i]);
}

size_t pt_proto_put_header(unsigned char *to, unsigned field, size_t length)
{
    size_t key = put_varint(to, (uint64_t)field << 3 | WIRE_LENGTH);
    return key + put_varint(to + key, length);
}

size_t pt_proto_put_numbers(unsigned char *to, unsigned field, const uint64_t *values, size_t count)
{
    unsigned char bytes[PT_PROTO_VARINT_BYTES];
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += put_varint(bytes, values[i]);
    size_t at = pt_proto_put_header(to, field, length);
    for (size_t i = 0; i < count; i++)
        at += put_varint(to + at, values[i]);
    return at;
}

void pt_gzip_fields(struct pt_gzip *gzip, struct pt_buffer *fields)
{
    pt_gzip_append(gzip, fields->data, fields->length);
    pt_buffer_clear(fields);
}

void pt_gzip_message(struct pt_gzip *gzip, unsigned field, struct pt_buffer *message)
{
    unsigned char header[PT_PROTO_HEADER_BYTES];
    pt_gzip_append(gzip, header, pt_proto_put_header(header, field, message->length));
    pt_gzip_fields(gzip, message);
}
