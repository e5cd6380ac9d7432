/* Preloaded: the clock of the machine shows SET_CLOCK_NS when a program begins, and goes on from there. Or it shows as
 * many seconds more as the file SET_CLOCK_FILE says, from when the file is there. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ll

static long long seconds_in(const char *path)
{
    long long seconds = 0;
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file)
        return 0;
    if (fscanf(file, "%lld", &seconds) != 1)
        seconds = 0;
    fclose(file);
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static long long offset;
    const char *set = getenv("SET_CLOCK_NS");
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result != 0 || clock != CLOCK_REALTIME)
        return result;
    long long now = time->tv_sec * NS + time->tv_nsec;
    if (!offset && set)
        offset = atoll(set) - now;
    now += offset + seconds_in(getenv("SET_CLOCK_FILE")) * NS;
    time->tv_sec = now / NS;
    time->tv_nsec = now % NS;
    return 0;
}
