/* Threads that leave by pthread_exit, that are cancelled, that are never joined; main leaves by pthread_exit as well.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 50

static char arguments[THREADS];

static void *leaves(void *arg)
{
    for (volatile int i = 0; i < 200000; i++)
        ;
    pthread_exit(arg);
}

static void *cancelled(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void *last(void *arg)
{
    (void)arg;
    usleep(100000);
    puts("last thread done");
    exit(0);
}

int main(void)
{
    pthread_t threads[THREADS], victim, final;
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, leaves, &arguments[i]))
            return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;
        if (pthread_join(threads[i], &result) || result != &arguments[i])
            return 2;
    }
    void *result;
    if (pthread_create(&victim, NULL, cancelled, NULL) || pthread_cancel(victim) || pthread_join(victim, &result) ||
        result != PTHREAD_CANCELED)
        return 3;
    if (pthread_create(&final, NULL, last, NULL) || pthread_detach(final))
        return 4;
    pthread_exit(NULL);
}
