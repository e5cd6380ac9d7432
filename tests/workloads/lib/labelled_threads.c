/* Native threads that say what they work for (pyprof_labels). */
#include "../../../preload/pyprof.h"
#include "cpu.h"
#include <pthread.h>

void labelled_first(void);
void labelled_second(void);
void labelled_none(void);
void labelled_run(void);

static int (*set_labels)(const char *);

static void use_cpu(void)
{
    uint64_t start = thread_ns();
    while (thread_ns() - start < 300000000u)
        for (volatile int i = 0; i < 10000; i++)
            ;
}

__attribute__((noinline)) void labelled_first(void)
{
    use_cpu();
    __asm__ volatile("");
}

__attribute__((noinline)) void labelled_second(void)
{
    use_cpu();
    __asm__ volatile("");
}

__attribute__((noinline)) void labelled_none(void)
{
    use_cpu();
    __asm__ volatile("");
}

static void *work(void *argument)
{
    (void)argument;
    set_labels("job=first;kind=a%3Bb");
    labelled_first();
    set_labels("job=second");
    labelled_second();
    set_labels(NULL);
    labelled_none();
    return NULL;
}

void labelled_run(void)
{
    pthread_t threads[2];
    set_labels = PYPROF_FIND(pyprof_labels);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
