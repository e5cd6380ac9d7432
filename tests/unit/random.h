/* The same numbers in each run (Marsaglia's xorshift). */
#ifndef PP_TESTS_RANDOM_H
#define PP_TESTS_RANDOM_H

#include <stdint.h>

static inline uint32_t random_below(uint32_t limit)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % limit);
}

#endif
