/* A native library that publishes what each thread works for as OTEP 4947 has it, and threads that use CPU for it. */
#include "cpu.h"
#include <pthread.h>
#include <string.h>

struct record {
    uint8_t trace_id[16], span_id[8], valid, flags, attribute_bytes[2], attributes[64];
};

__attribute__((visibility("default"))) _Thread_local struct record *otel_thread_ctx_v1;
static _Thread_local struct record own;

static void put(uint8_t *to, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(number >> (56 - 8 * i));
}

/* A record that is not valid is one that is being written. */
void publish(uint64_t high, uint64_t low, uint64_t span, int valid)
{
    own.valid = 0;
    __asm__ volatile("" ::: "memory");
    put(own.trace_id, high);
    put(own.trace_id + 8, low);
    put(own.span_id, span);
    __asm__ volatile("" ::: "memory");
    own.valid = (uint8_t)valid;
    otel_thread_ctx_v1 = &own;
}

void publish_at(void *anywhere)
{
    otel_thread_ctx_v1 = anywhere;
}

/* Uses CPU in the calling thread; returns how much. */
uint64_t use(unsigned ms)
{
    uint64_t since = thread_ns(), now = since;
    volatile unsigned sum = 0;
    while (now - since < ms * 1000000ull) {
        for (unsigned i = 0; i < 20000; i++)
            sum += i;
        now = thread_ns();
    }
    return now - since;
}

static void *work(void *argument)
{
    uint64_t *job = argument;
    publish(job[0], job[1], job[2], 1);
    job[4] = use((unsigned)job[3]);
    otel_thread_ctx_v1 = NULL;
    use((unsigned)job[3] / 4); /* for nothing */
    return NULL;
}

/* Runs a thread without Python for each of the jobs {trace, trace, span, ms, ns used}. */
void run(uint64_t jobs[][5], unsigned count)
{
    pthread_t threads[64];
    for (unsigned i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, jobs[i]);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}
