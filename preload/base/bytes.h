/* SPDX-License-Identifier: Apache-2.0 */
/* Reads untrusted bytes within bounds: anything past the end reads as 0 and sets `failed`. */
#ifndef PP_BASE_BYTES_H
#define PP_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pp_bytes {
    const uint8_t *at, *end;
    bool failed;
};

static inline size_t pp_bytes_left(const struct pp_bytes *b)
{
    return (size_t)(b->end - b->at);
}

static inline const uint8_t *pp_bytes_advance(struct pp_bytes *b, uint64_t size)
{
    if (size > pp_bytes_left(b)) {
        b->failed = true;
        b->at = b->end;
        return NULL;
    }
    const uint8_t *p = b->at;
    b->at += size;
    return p;
}

/* Reads an unsigned little-endian integer of 1, 2, 4 or 8 bytes. */
static inline uint64_t pp_bytes_unsigned(struct pp_bytes *b, unsigned size)
{
    uint64_t value = 0;
    const uint8_t *p = pp_bytes_advance(b, size);
    if (p)
        memcpy(&value, p, size);
    return value;
}

static inline int64_t pp_bytes_signed(struct pp_bytes *b, unsigned size)
{
    unsigned unused = 64 - 8 * size;
    return (int64_t)(pp_bytes_unsigned(b, size) << unused) >> unused;
}

static inline uint64_t pp_bytes_uleb(struct pp_bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = pp_bytes_unsigned(b, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static inline int64_t pp_bytes_sleb(struct pp_bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint64_t byte = pp_bytes_unsigned(b, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if (byte & 0x40 && shift < 64)
                value |= ~(uint64_t)0 << shift;
            return (int64_t)value;
        }
    }
}

#endif
