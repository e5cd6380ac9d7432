/* For an object that dlopen loads after libc: no function comes after it that pp_real() could find. */
#ifndef TESTS_LIBC_FUNCTIONS_H
#define TESTS_LIBC_FUNCTIONS_H

#include "preload/base/libc.h"
#include <dlfcn.h>
#include <pthread.h>

static inline void find_libc_functions(void)
{
    struct pp_real *libc = (struct pp_real *)(uintptr_t)pp_real();
    libc->dlopen = dlopen;
    libc->pthread_key_create = pthread_key_create;
    libc->pthread_key_delete = pthread_key_delete;
    libc->pthread_getspecific = pthread_getspecific;
    libc->pthread_setspecific = pthread_setspecific;
}

#endif
