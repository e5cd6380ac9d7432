/* SPDX-License-Identifier: Apache-2.0 */
#include "libc.h"
#include "elf_names.h"
#include "syscalls.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* dlsym's default version is GLIBC_2.34 where libdl became a part of libc; the older version exists too. */
__asm__(".symver dlsym, dlsym@" PP_FIRST_GLIBC);
#pragma weak dlsym

static struct pp_real real;
static _Atomic int real_ready;

/* Serves calls before the first pp_real(): another library's constructor may run before ours. */
static long plain_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long result = pp_syscall6(number, a, b, c, d, e, f);
    if (pp_is_error(result)) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

long (*pp_real_syscall)(long, long, long, long, long, long, long) = plain_syscall;

void *pp_real_symbol(void *library, const char *name)
{
    return dlsym ? dlsym(library, name) : NULL;
}

const struct pp_real *pp_real(void)
{
#define NAME(name) #name "\0"
    static const char names[] = PP_REAL_FUNCTIONS(NAME);
    /* Two threads may both do this: they store equal values. */
    if (!atomic_load_explicit(&real_ready, memory_order_acquire)) {
        void **found = (void **)&real;
        if (!pp_elf_find_next(names, found))
            for (const char *name = names; *name; name += strlen(name) + 1)
                *found++ = pp_real_symbol(RTLD_NEXT, name);
        if (real.syscall)
            pp_real_syscall = (__typeof__(pp_real_syscall))real.syscall;
        atomic_store_explicit(&real_ready, 1, memory_order_release);
    }
    return &real;
}
