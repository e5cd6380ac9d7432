/* Where the calling thread's stack ends: a test walks it from there. */
#ifndef PP_TESTS_THREAD_STACK_H
#define PP_TESTS_THREAD_STACK_H

#include <pthread.h>
#include <stdint.h>

extern void *__libc_stack_end;

static inline uintptr_t thread_stack_top(void)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    /* a qemu-user that is told another size of pages does not list the stack in /proc/self/maps */
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return (uintptr_t)((void **)__libc_stack_end + 8); /* of the arguments and the environment */
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    return (uintptr_t)start + size;
}

#endif
