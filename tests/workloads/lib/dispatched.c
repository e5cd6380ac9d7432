/* Computes while each system call of the thread would be a SIGSYS (syscall user dispatch, Linux 5.11). */
#include <sys/prctl.h>

#define DISPATCH 59
#define ALLOW    0
#define BLOCK    1

static volatile char selector = ALLOW;

/* For so many ticks of the CPU's counter: a clock might be a system call. */
__attribute__((visibility("default"))) int compute_dispatched(long ticks)
{
    if (prctl(DISPATCH, 1, 0, 0, &selector) != 0)
        return -1;
    selector = BLOCK;
    for (unsigned long long begin = __builtin_ia32_rdtsc(); __builtin_ia32_rdtsc() - begin < (unsigned long long)ticks;)
        ;
    selector = ALLOW;
    return prctl(DISPATCH, 0, 0, 0, 0);
}
