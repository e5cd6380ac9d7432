/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers: clocks, words, order. */
#ifndef PT_BASE_NUMBERS_H
#define PT_BASE_NUMBERS_H

#include <stdint.h>
#include <time.h>

#define PT_SECOND UINT64_C(1000000000) /* in ns */

/* Returns the clock's time in nanoseconds; 0 when the kernel does not have that clock. */
static inline uint64_t pt_clock_ns(clockid_t clock)
{
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * PT_SECOND + (uint64_t)time.tv_nsec;
}

static inline double pt_seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* Returns the ending of a plural: "s" or "es", unless the count is 1. */
static inline const char *pt_plural(uint64_t count, const char *ending)
{
    return count == 1 ? "" : ending;
}

/* Compares for qsort: several keys are joined with ?:. */
static inline int pt_compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Defines such a function for items of a type: the keys of *x compared with those of *y. */
#define PT_DEFINE_ORDER(function, type, ...)                                                                           \
    static int function(const void *a, const void *b)                                                                  \
    {                                                                                                                  \
        const type *x = a;                                                                                             \
        const type *y = b;                                                                                             \
        return __VA_ARGS__;                                                                                            \
    }

#endif
