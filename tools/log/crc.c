#include "crc.h"

#include <zlib.h>

#ifdef __x86_64__
#include <immintrin.h>

#define BLOCK 64
#define WORD  16

/* Gopal, Ozturk and others: "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009;
 * the constants are those of the paper for the bit-reflected polynomial of zlib. length is a multiple of 16 and 64 at
 * least; crc is inverted, before and after. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t fold(uint32_t crc, const unsigned char *data, size_t length)
{
    const __m128i k12 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4), k34 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0),
                  k5 = _mm_set_epi64x(0, 0x0163cd6124), poly = _mm_set_epi64x(0x01f7011641, 0x01db710641),
                  mask = _mm_setr_epi32(~0, 0, ~0, 0);
    const __m128i *at = (const __m128i *)data;
    __m128i x[4], y;
    for (int i = 0; i < 4; i++)
        x[i] = _mm_loadu_si128(at + i);
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)crc));
    for (at += 4, length -= BLOCK; length >= BLOCK; at += 4, length -= BLOCK) {
        for (int i = 0; i < 4; i++) {
            y = _mm_clmulepi64_si128(x[i], k12, 0x00);
            x[i] = _mm_clmulepi64_si128(x[i], k12, 0x11);
            x[i] = _mm_xor_si128(_mm_xor_si128(x[i], y), _mm_loadu_si128(at + i));
        }
    }
    for (int i = 1; i < 4; i++) {
        y = _mm_clmulepi64_si128(x[0], k34, 0x00);
        x[0] = _mm_clmulepi64_si128(x[0], k34, 0x11);
        x[0] = _mm_xor_si128(_mm_xor_si128(x[0], y), x[i]);
    }
    for (; length >= WORD; at++, length -= WORD) {
        y = _mm_clmulepi64_si128(x[0], k34, 0x00);
        x[0] = _mm_clmulepi64_si128(x[0], k34, 0x11);
        x[0] = _mm_xor_si128(_mm_xor_si128(x[0], y), _mm_loadu_si128(at));
    }
    y = _mm_clmulepi64_si128(x[0], k34, 0x10);
    x[0] = _mm_xor_si128(_mm_srli_si128(x[0], 8), y);
    y = _mm_srli_si128(x[0], 4);
    x[0] = _mm_clmulepi64_si128(_mm_and_si128(x[0], mask), k5, 0x00);
    x[0] = _mm_xor_si128(x[0], y);
    y = _mm_clmulepi64_si128(_mm_and_si128(x[0], mask), poly, 0x10);
    y = _mm_clmulepi64_si128(_mm_and_si128(y, mask), poly, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x[0], y), 1);
}

uint32_t pt_crc32(uint32_t crc, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    if (length >= BLOCK && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
        size_t whole = length / WORD * WORD;
        crc = ~fold(~crc, bytes, whole);
        bytes += whole;
        length -= whole;
    }
    return length ? (uint32_t)crc32(crc, bytes, (uInt)length) : crc;
}

#else

uint32_t pt_crc32(uint32_t crc, const void *data, size_t length)
{
    return (uint32_t)crc32(crc, data, (uInt)length);
}

#endif
