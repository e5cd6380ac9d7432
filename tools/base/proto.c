/* SPDX-License-Identifier: Apache-2.0 */
#include "proto.h"

#include <string.h>

#define VARINT_BYTES 10

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

void pt_append_varint(struct pt_buffer *bytes, uint64_t value)
{
    char *at = pt_buffer_room(bytes, VARINT_BYTES);
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    bytes->length = (size_t)(at - bytes->data);
}

static void append_key(struct pt_buffer *message, unsigned field, enum wire wire)
{
    pt_append_varint(message, (uint64_t)field << 3 | wire);
}

void pt_proto_choice(struct pt_buffer *message, unsigned field, uint64_t value)
{
    append_key(message, field, WIRE_VARINT);
    pt_append_varint(message, value);
}

void pt_proto_number(struct pt_buffer *message, unsigned field, uint64_t value)
{
    if (value)
        pt_proto_choice(message, field, value);
}

static void append_fixed64(struct pt_buffer *bytes, uint64_t value)
{
    for (size_t i = 0; i < sizeof value; i++, value >>= 8)
        pt_buffer_append(bytes, &(unsigned char){(unsigned char)value}, 1);
}

void pt_proto_fixed64(struct pt_buffer *message, unsigned field, uint64_t value)
{
    append_key(message, field, WIRE_FIXED64);
    append_fixed64(message, value);
}

void pt_proto_header(struct pt_buffer *message, unsigned field, size_t length)
{
    append_key(message, field, WIRE_LENGTH);
    pt_append_varint(message, length);
}

void pt_proto_fixed64s(struct pt_buffer *message, unsigned field, const uint64_t *values, size_t count)
{
    pt_proto_header(message, field, count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        append_fixed64(message, values[i]);
}

void pt_proto_bytes(struct pt_buffer *message, unsigned field, const void *data, size_t length)
{
    pt_proto_header(message, field, length);
    pt_buffer_append(message, data, length);
}

void pt_proto_text(struct pt_buffer *message, unsigned field, const char *text)
{
    pt_proto_bytes(message, field, text, strlen(text));
}

void pt_proto_numbers(struct pt_buffer *message, unsigned field, const uint64_t *values, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        for (uint64_t rest = values[i]; length++, rest >>= 7;)
            ;
    pt_proto_header(message, field, length);
    for (size_t i = 0; i < count; i++)
        pt_append_varint(message, values[i]);
}

void pt_proto_message(struct pt_buffer *to, unsigned field, struct pt_buffer *message)
{
    pt_proto_bytes(to, field, message->data, message->length);
    pt_buffer_clear(message);
}
