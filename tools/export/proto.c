#include "proto.h"

#define VARINT_BYTES 10

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

static size_t put_varint(unsigned char bytes[VARINT_BYTES], uint64_t value)
{
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (unsigned char)(value | 0x80);
    bytes[length++] = (unsigned char)value;
    return length;
}

static void append_varint(struct pp_buffer *message, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES];
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
    unsigned char bytes[VARINT_BYTES];
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += put_varint(bytes, values[i]);
    append_key(message, field, WIRE_LENGTH);
    append_varint(message, length);
    for (size_t i = 0; i < count; i++)
        append_varint(message, values[i]);
}

void pp_gzip_fields(struct pp_gzip *gzip, struct pp_buffer *fields)
{
    pp_gzip_append(gzip, fields->data, fields->length);
    pp_buffer_clear(fields);
}

void pp_gzip_message(struct pp_gzip *gzip, unsigned field, struct pp_buffer *message)
{
    unsigned char header[2 * VARINT_BYTES];
    size_t length = put_varint(header, (uint64_t)field << 3 | WIRE_LENGTH);
    length += put_varint(header + length, message->length);
    pp_gzip_append(gzip, header, length);
    pp_gzip_fields(gzip, message);
}
