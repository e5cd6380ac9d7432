/* A library that makes threads that Python does not know: they return, leave by pthread_exit, are cancelled, are
 * detached, block every signal. Each uses CPU in a function named after it and adds its clock to what is returned. */
#include "cpu.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#define BURN_NS 300000000u

uint64_t run_native_threads(void);
void burn_native(void);

static _Atomic uint64_t used;
static _Atomic int detached_done;

__attribute__((noinline)) void burn_native(void)
{
    uint64_t start = thread_ns(), now;
    do {
        for (volatile int i = 0; i < 100000; i++)
            ;
        now = thread_ns();
    } while (now - start < BURN_NS);
    atomic_fetch_add(&used, now - start);
}

static void *returns(void *argument)
{
    burn_native();
    return argument;
}

static void *exits(void *argument)
{
    burn_native();
    pthread_exit(argument);
}

static void *cancelled(void *argument)
{
    burn_native();
    for (;;)
        pause();
    return argument;
}

static void *detached(void *argument)
{
    burn_native();
    atomic_store(&detached_done, 1);
    return argument;
}

static void *blocks(void *argument)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    burn_native();
    return argument;
}

/* ns that the threads used, 0 when one of them went wrong. */
uint64_t run_native_threads(void)
{
    void *(*const kinds[])(void *) = {returns, exits, cancelled, blocks};
    pthread_t threads[4], free_thread;
    char marks[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, kinds[i], &marks[i]) != 0)
            return 0;
    if (pthread_create(&free_thread, NULL, detached, NULL) != 0 || pthread_detach(free_thread) != 0)
        return 0;
    for (int i = 0; i < 4; i++) {
        void *result;
        if (kinds[i] == cancelled) {
            while (atomic_load(&used) < BURN_NS * (uint64_t)5)
                usleep(1000);
            pthread_cancel(threads[i]);
        }
        if (pthread_join(threads[i], &result) != 0)
            return 0;
        if (result != (kinds[i] == cancelled ? PTHREAD_CANCELED : (void *)&marks[i]))
            return 0;
    }
    while (!atomic_load(&detached_done))
        usleep(1000);
    return atomic_load(&used);
}
