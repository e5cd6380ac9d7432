/* Copies of this library call each other: a stack that is in as many files. */
#include <time.h>

typedef int step_function(void **next, double seconds);

int step(void **next, double seconds)
{
    if (*next)
        return ((step_function *)*next)(next + 1, seconds) + 1;
    struct timespec now;
    double end = 0;
    do {
        for (volatile unsigned i = 0; i < 100000; i++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        if (end == 0)
            end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
    } while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
    return 0;
}
