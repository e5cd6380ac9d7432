/* Works in a handler of a signal that comes again and again, above what it interrupts. */
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

static volatile unsigned long sink;

static double used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) void in_c_handler(int number)
{
    double end = used() + 0.005;
    while (used() < end)
        for (int i = 0; i < 1000; i++)
            sink += (unsigned)number;
}

__attribute__((noinline)) void work_with_handler(double seconds)
{
    struct sigaction action = {.sa_handler = in_c_handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 20000}, {0, 20000}}, never = {0};
    double end = used() + seconds;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (used() < end)
        for (int i = 0; i < 1000; i++)
            sink++;
    setitimer(ITIMER_REAL, &never, NULL);
}
