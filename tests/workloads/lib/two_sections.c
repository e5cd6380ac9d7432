/* A library as BOLT leaves it: hot functions in .text, the others in a section far from it, with a segment of its own.
 * Calls go to and fro. */
#include <time.h>

#define COLD __attribute__((noinline, section(".bolt.org.text")))
#define HOT  __attribute__((noinline))

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

HOT unsigned hot_leaf(unsigned n)
{
    for (unsigned i = 0; i < 200000; i++)
        n = n * 1664525 + 1013904223;
    return n;
}

COLD unsigned cold_leaf(unsigned n)
{
    for (unsigned i = 0; i < 200000; i++)
        n = n * 22695477 + 1;
    return n;
}

COLD unsigned cold_middle(unsigned n)
{
    volatile unsigned room[100]; /* a frame that differs from the others' */
    room[n % 100] = n;
    return hot_leaf(room[n % 100]) + 1;
}

HOT unsigned hot_middle(unsigned n)
{
    volatile unsigned room[30];
    room[n % 30] = n;
    return cold_leaf(room[n % 30]) + 1;
}

/* Uses so much CPU in the leaf of each of the two ways. */
HOT unsigned to_and_fro(double seconds)
{
    unsigned sum = 0;
    for (double end = now() + seconds; now() < end;)
        sum += cold_middle(sum);
    for (double end = now() + seconds; now() < end;)
        sum += hot_middle(sum);
    return sum;
}
