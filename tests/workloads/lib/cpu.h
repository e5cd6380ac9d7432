/* The CPU time of the calling thread. */
#ifndef TESTS_CPU_H
#define TESTS_CPU_H

#include <stdint.h>
#include <time.h>

static inline uint64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Uses so much of it. */
static inline void use_us(uint64_t us)
{
    uint64_t end = thread_ns() + 1000 * us;
    do
        for (volatile int i = 0; i < 1000; i++)
            ;
    while (thread_ns() < end);
}

#endif
