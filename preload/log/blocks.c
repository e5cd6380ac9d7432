/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"
#include "../base/arena.h"
#include <stdatomic.h>
#include <string.h>

#define FIRST_CAPACITY 4096u
#define VARINT_MAX     10
/* Bytes reserved for a record's length, closed up when it is known. Records are at most a few KiB. */
#define LENGTH_ROOM 3

static bool reserve(struct pp_buffer *buffer, size_t more)
{
    if (buffer->capacity - buffer->length >= more)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;
    while (capacity - buffer->length < more)
        capacity *= 2;
    uint8_t *data = pp_map(capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    if (buffer->length)
        memcpy(data, buffer->data, buffer->length);
    /* in this order: the child of a fork in between finds a valid pair */
    uint8_t *old = buffer->data;
    size_t old_capacity = buffer->capacity;
    buffer->data = data;
    atomic_signal_fence(memory_order_seq_cst);
    buffer->capacity = capacity;
    pp_unmap(old, old_capacity);
    return true;
}

void pp_put_bytes(struct pp_buffer *buffer, const void *bytes, size_t length)
{
    if (!length || !reserve(buffer, length))
        return;
    memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
}

static unsigned encode_varint(uint8_t *out, uint64_t value)
{
    unsigned n = 0;
    for (; value >= 128; value >>= 7)
        out[n++] = (uint8_t)(value | 128);
    out[n++] = (uint8_t)value;
    return n;
}

void pp_put_varint(struct pp_buffer *buffer, uint64_t value)
{
    if (!reserve(buffer, VARINT_MAX))
        return;
    buffer->length += encode_varint(buffer->data + buffer->length, value);
}

void pp_put_svarint(struct pp_buffer *buffer, int64_t value)
{
    pp_put_varint(buffer, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

void pp_block_start(struct pp_buffer *buffer, uint32_t id)
{
    if (buffer->length == 0)
        pp_put_varint(buffer, id);
}

size_t pp_record_begin(struct pp_buffer *buffer)
{
    size_t begun = buffer->length;
    static const uint8_t room[LENGTH_ROOM];
    pp_put_bytes(buffer, room, sizeof room);
    return begun;
}

void pp_record_end(struct pp_buffer *buffer, size_t begun)
{
    if (buffer->failed)
        return;
    size_t start = begun + LENGTH_ROOM, length = buffer->length - start;
    uint8_t encoded[VARINT_MAX];
    unsigned n = encode_varint(encoded, length);
    if (n > LENGTH_ROOM) {
        buffer->failed = true;
        return;
    }
    memmove(buffer->data + begun + n, buffer->data + start, length);
    memcpy(buffer->data + begun, encoded, n);
    buffer->length = begun + n + length;
}

void pp_put_field(struct pp_buffer *buffer, unsigned key, const void *bytes, size_t length)
{
    pp_put_varint(buffer, key);
    pp_put_varint(buffer, length);
    pp_put_bytes(buffer, bytes, length);
}

void pp_put_number_field(struct pp_buffer *buffer, unsigned key, uint64_t value)
{
    uint8_t encoded[VARINT_MAX];
    pp_put_field(buffer, key, encoded, encode_varint(encoded, value));
}

static uint32_t crc_of(uint32_t crc, const uint8_t *bytes, size_t length)
{
    static uint32_t table[256];
    if (!table[1]) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int bit = 0; bit < 8; bit++)
                c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
            table[i] = c;
        }
    }
    crc = ~crc;
    for (; length; length--)
        crc = crc >> 8 ^ table[(crc ^ *bytes++) & 255];
    return ~crc;
}

void pp_put_block(struct pp_buffer *out, enum pp_log_block type, const struct pp_buffer *payload, uint32_t *sequence)
{
    if (payload->failed || payload->length > PP_LOG_MAX_BLOCK) {
        out->failed = true;
        return;
    }
    struct pp_log_block_header header = {type, (uint32_t)payload->length, 0, (*sequence)++};
    uint32_t covered[3] = {header.type, header.length, header.sequence};
    header.crc32 = crc_of(crc_of(0, (const uint8_t *)covered, sizeof covered), payload->data, payload->length);
    pp_put_bytes(out, &header, sizeof header);
    pp_put_bytes(out, payload->data, payload->length);
}

void pp_buffer_clear(struct pp_buffer *buffer)
{
    buffer->length = 0;
    buffer->failed = false;
}
