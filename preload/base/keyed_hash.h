/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes a number under a secret key: SipHash-2-4 of its eight bytes. Nothing of the key can be learned from it. */
#ifndef PP_BASE_KEYED_HASH_H
#define PP_BASE_KEYED_HASH_H

#include <stdint.h>

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

static inline void pp_keyed_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    pp_keyed_rounds(v, 2);
    v[0] ^= word;
}

static inline uint64_t pp_keyed_hash(const uint64_t key[2], uint64_t number)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                     key[1] ^ 0x7465646279746573u};
    pp_keyed_word(v, number);
    pp_keyed_word(v, (uint64_t)sizeof number << 56); /* the length */
    v[2] ^= 0xff;
    pp_keyed_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
