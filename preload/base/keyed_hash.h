/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes under a secret key, of which nothing can be learned from the hashes. */
#ifndef PP_BASE_KEYED_HASH_H
#define PP_BASE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t pp_rotated(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void pp_keyed_rounds(uint64_t v[4], unsigned rounds)
{
    while (rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = pp_rotated(v[1], 13) ^ v[0];
        v[3] = pp_rotated(v[3], 16) ^ v[2];
        v[0] = pp_rotated(v[0], 32) + v[3];
        v[2] += v[1];
        v[3] = pp_rotated(v[3], 21) ^ v[0];
        v[1] = pp_rotated(v[1], 17) ^ v[2];
        v[2] = pp_rotated(v[2], 32);
    }
}

static inline void pp_keyed_word(uint64_t v[4], uint64_t word, unsigned rounds)
{
    v[3] ^= word;
    pp_keyed_rounds(v, rounds);
    v[0] ^= word;
}

/* Returns SipHash-2-4 of these bytes, with one round for each word SipHash-1-3. */
static inline uint64_t pp_keyed_bytes(const uint64_t key[2], unsigned rounds, const void *bytes, size_t size)
{
    const char *at = bytes;
    uint64_t word, length = (uint64_t)size << 56;
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                     key[1] ^ 0x7465646279746573u};
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        pp_keyed_word(v, word, rounds);
    }
    word = 0;
    memcpy(&word, at, size);
    pp_keyed_word(v, length | word, rounds);
    v[2] ^= 0xff;
    pp_keyed_rounds(v, rounds + 2);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static inline uint64_t pp_keyed_hash(const uint64_t key[2], uint64_t number)
{
    return pp_keyed_bytes(key, 2, &number, sizeof number);
}

#endif
