/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes bytes for tables in memory: not for files, not against an adversary. */
#ifndef PP_BASE_HASH_H
#define PP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t pp_hash(const void *bytes, size_t length)
{
    uint64_t hash = length * 0x9E3779B97F4A7C15u, word;
    const uint8_t *p = bytes;
    for (; length >= 8; p += 8, length -= 8) {
        memcpy(&word, p, 8);
        hash = (hash ^ word) * 0x9FB21C651E98DF25u;
        hash ^= hash >> 32;
    }
    if (!length)
        return hash;
    word = 0;
    memcpy(&word, p, length);
    hash = (hash ^ word) * 0x9FB21C651E98DF25u;
    return hash ^ hash >> 32;
}

#endif
