/* Threads with little stack, and how much of a stack a signal takes. */
#include "cpu.h"
#include <alloca.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#define PAINTED 65536
#define PAINT   0x5a
#define TRIES   5

long ours_beside_the_kernels(long loops);
int on_stack(int size, int used, int ms);

static void nothing(int signal)
{
    (void)signal;
}

/* Bytes below the painted part's upper end that something has written since. */
static inline __attribute__((always_inline)) long written(const volatile char *end)
{
    long i = PAINTED;
    while (i > 0 && end[-i] == PAINT)
        i--;
    return i;
}

static inline __attribute__((always_inline)) void paint(volatile char *end)
{
    for (long i = 1; i <= PAINTED; i++)
        end[-i] = PAINT;
}

/* What our handler took of this stack at most, for stacks like this one, less what the kernel and a handler that does
 * nothing take. */
__attribute__((noinline)) long ours_beside_the_kernels(long loops)
{
    volatile char *end = (char *)__builtin_frame_address(0) - 2048; /* below its own frame */
    struct sigaction action = {.sa_handler = nothing}, before;
    sigset_t all, mask;
    sigfillset(&all);
    sigaction(SIGUSR1, &action, &before);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    sigset_t only = all;
    sigdelset(&only, SIGUSR1);
    long kernels = PAINTED;
    for (int i = 0; i < TRIES; i++) { /* our ticks come through every mask: there is a try without */
        raise(SIGUSR1);
        paint(end);
        sigsuspend(&only);
        long some = written(end);
        kernels = some < kernels ? some : kernels;
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGUSR1, &before, NULL);
    paint(end);
    for (volatile long i = 0; i < loops; i++)
        ;
    return written(end) - kernels;
}

struct use {
    int used, ms;
};

static void *use(void *argument)
{
    const struct use *how = argument;
    volatile char *used = alloca((size_t)how->used);
    for (int i = 0; i < how->used; i += 64)
        used[i] = PAINT;
    use_us(1000 * (uint64_t)how->ms);
    for (int i = 0; i < how->used; i += 64)
        if (used[i] != PAINT)
            return argument;
    return NULL;
}

/* Uses CPU in a thread with a stack of this size, of which so much is in use. Returns whether the thread saw its stack
 * as it left it.
 */
int on_stack(int size, int used, int ms)
{
    struct use how = {used, ms};
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = &how;
    if (size < PTHREAD_STACK_MIN)
        size = PTHREAD_STACK_MIN;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, (size_t)size) || pthread_create(&thread, &attributes, use, &how) ||
        pthread_join(thread, &result))
        return 0;
    return result == NULL;
}
