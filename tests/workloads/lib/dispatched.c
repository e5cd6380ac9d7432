/* Computes while each system call of the thread would be a SIGSYS (syscall user dispatch, Linux 5.11). */
#include <sys/prctl.h>

#define DISPATCH 59
#define ALLOW    0
#define BLOCK    1

static volatile char selector = ALLOW;

__attribute__((visibility("default"))) int compute_dispatched(long rounds)
{
    if (prctl(DISPATCH, 1, 0, 0, &selector) != 0)
        return -1;
    selector = BLOCK;
    for (volatile long i = 0; i < rounds;)
        i = i + 1;
    selector = ALLOW;
    return prctl(DISPATCH, 0, 0, 0, 0);
}
