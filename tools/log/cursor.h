/* SPDX-License-Identifier: Apache-2.0 */
/* Reads bytes that are not trusted: every step is checked, and after the first bad one all return 0. */
#ifndef PT_LOG_CURSOR_H
#define PT_LOG_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pt_cursor {
    const uint8_t *at, *end;
    bool bad;
};

static inline struct pt_cursor pt_cursor(const void *data, size_t size)
{
    const uint8_t *at = data;
    return (struct pt_cursor){at, at + size, false};
}

static inline size_t pt_left(const struct pt_cursor *cursor)
{
    return cursor->bad ? 0 : (size_t)(cursor->end - cursor->at);
}

static inline uint64_t pt_read_varint(struct pt_cursor *cursor)
{
    uint64_t value = 0;
    if (pt_left(cursor) && *cursor->at < 0x80) /* most are short */
        return *cursor->at++;
    for (unsigned shift = 0; shift < 64 && pt_left(cursor); shift += 7) {
        uint8_t byte = *cursor->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor->bad = true;
    return 0;
}

/* Reads a reference to a table. An impossible id becomes 0, "none". */
static inline uint32_t pt_read_id(struct pt_cursor *cursor)
{
    uint64_t id = pt_read_varint(cursor);
    return id < UINT32_MAX ? (uint32_t)id : 0;
}

/* Reads a number; UINT32_MAX if it is larger. */
static inline uint32_t pt_read_small(struct pt_cursor *cursor)
{
    uint64_t value = pt_read_varint(cursor);
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static inline int64_t pt_read_svarint(struct pt_cursor *cursor)
{
    uint64_t value = pt_read_varint(cursor);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Returns the next `length` bytes as a cursor of their own; a bad and empty one if there are fewer. */
static inline struct pt_cursor pt_read_part(struct pt_cursor *cursor, uint64_t length)
{
    if (cursor->bad || length > pt_left(cursor)) {
        cursor->bad = true;
        return (struct pt_cursor){cursor->end, cursor->end, true};
    }
    struct pt_cursor part = {cursor->at, cursor->at + length, false};
    cursor->at += length;
    return part;
}

#endif
