/* Clocks in nanoseconds. */
#ifndef PT_BASE_CLOCK_H
#define PT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* 0 when the kernel does not have that clock. */
static inline uint64_t pt_clock_ns(clockid_t clock)
{
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

#endif
