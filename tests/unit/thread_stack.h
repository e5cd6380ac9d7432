/* Where the calling thread's stack ends: a test walks it from there. */
#ifndef PP_TESTS_THREAD_STACK_H
#define PP_TESTS_THREAD_STACK_H

#include <pthread.h>
#include <stdint.h>

static inline uintptr_t thread_stack_top(void)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    return (uintptr_t)start + size;
}

#endif
