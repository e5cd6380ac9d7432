/* What tests/bench/walkers.py calls in walkers.so. Times are ticks of the processor's clock. */
#ifndef PP_BENCH_WALKERS_H
#define PP_BENCH_WALKERS_H

#include <stdint.h>
#include <x86intrin.h>

/* Nothing of what is timed moves out of the two readings. */
static inline uint64_t bench_now(void)
{
    _mm_lfence();
    uint64_t t = __rdtsc();
    _mm_lfence();
    return t;
}

#pragma GCC visibility push(default)

/* `count` times all kinds of walk, from the caller's stack: one context after another. */
void bench_here(int how, unsigned count);
/* The same `depth` frames deep in C, on a thread of its own. */
void bench_c(int how, unsigned count, unsigned depth);
/* One kind at each tick of the calling thread's CPU clock, in turn, until bench_stop. */
void bench_start(unsigned hz);
void bench_stop(void);

/* The times measured last, of one kind; *frames: found by all of them together. */
const uint64_t *bench_series(int walker, unsigned *count, uint64_t *frames);
uint64_t bench_clock(void);

/* Sends this thread the profiler's own signal again and again: its handler in a tight loop, while it is loaded and the
 * thread has the slot. Now and then a pause, in which the ring is read. */
void bench_queue(uint32_t slot, unsigned count);

struct bench_rows {
    const char *path;
    uint64_t ticks, bytes, functions, rows, rules;
};
/* Compiles the rows of all functions of each object that is loaded, one function after another, as if samples had met
 * them. Returns how many objects those are. */
unsigned bench_rows(struct bench_rows *into, unsigned max);

#pragma GCC visibility pop

#endif
