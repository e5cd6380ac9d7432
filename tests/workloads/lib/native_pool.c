/* A native library's pool: threads without Python that work while their caller waits. */
#include "cpu.h"
#include <pthread.h>
#include <stdatomic.h>

#define WORKERS 2

void pool_work(uint64_t ns);
void pool_work_along(uint64_t ns);
void pool_begin(void);
void pool_end(void);

static pthread_t workers[WORKERS];
static atomic_int stop;

static void *pool_worker(void *argument)
{
    uint64_t start = thread_ns(), ns = *(const uint64_t *)argument;
    while (!atomic_load(&stop) && thread_ns() - start < ns)
        for (volatile int i = 0; i < 10000; i++)
            ;
    return NULL;
}

static uint64_t wanted;

static void begin(uint64_t ns)
{
    wanted = ns;
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, pool_worker, &wanted);
}

static void join(void)
{
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
}

void pool_work(uint64_t ns)
{
    begin(ns);
    join();
}

/* As OpenBLAS does: the caller works, too. */
void pool_work_along(uint64_t ns)
{
    begin(ns);
    pool_worker(&wanted);
    join();
}

void pool_begin(void)
{
    begin(UINT64_MAX);
}

void pool_end(void)
{
    atomic_store(&stop, 1);
    join();
}
