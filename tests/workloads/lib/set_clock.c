/* Preloaded: the clock of the machine shows SET_CLOCK_NS when a program begins, and goes on from there. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ll

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static long long offset;
    const char *set = getenv("SET_CLOCK_NS");
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result != 0 || clock != CLOCK_REALTIME || !set)
        return result;
    long long now = time->tv_sec * NS + time->tv_nsec;
    if (!offset)
        offset = atoll(set) - now;
    now += offset;
    time->tv_sec = now / NS;
    time->tv_nsec = now % NS;
    return 0;
}
