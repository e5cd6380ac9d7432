/* SPDX-License-Identifier: Apache-2.0 */
/* base/ is what every wing uses: system calls, locks, memory, text, /proc, and in this header libc's own functions,
 * which those of interpose/ wrap. */
#ifndef PP_BASE_LIBC_H
#define PP_BASE_LIBC_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define PP_EXPORT __attribute__((visibility("default")))

/* in no header of libc's */
int capset(void *header, const void *data);
size_t __pthread_get_minstack(const pthread_attr_t *attributes); /* glibc: with what all libraries' TLS takes */

/* The functions that are looked up, not imported: their default versions are newer than GLIBC_2.17, and musl lacks
 * some. An interposed function needs its name here and a wrapper in interpose/. */
/* clang-format off */
#define PP_REAL_FUNCTIONS(X) \
    X(pthread_create) X(pthread_condattr_setclock) X(pthread_sigmask) X(sigaction) X(signal) \
    X(sigprocmask) X(sigtimedwait) X(signalfd) X(pthread_attr_init) X(pthread_attr_setstacksize) \
    X(pthread_attr_getstacksize) X(pthread_attr_destroy) X(pthread_key_create) X(pthread_key_delete) \
    X(pthread_setspecific) X(pthread_getspecific) X(pthread_join) X(prctl) X(syscall) X(unshare) \
    X(setns) X(capset) X(fork) X(forkpty) X(daemon) X(clone) X(dlopen) X(dlclose) X(fopen) X(fopen64) X(_exit) \
    X(quick_exit) X(kill) X(raise) X(abort) X(execve) X(execv) X(execvp) X(execvpe) X(fexecve) \
    X(execveat) X(__pthread_get_minstack)
/* clang-format on */

struct pp_real {
#define PP_REAL_MEMBER(name) __typeof__(name) *name;
    PP_REAL_FUNCTIONS(PP_REAL_MEMBER)
#undef PP_REAL_MEMBER
};

/* Returns the next definition of each function: libc's, or that of another library that is preloaded after this one;
 * NULL where there is none. Looks them up at the first call. async-signal-safe on glibc: the first call may come in a
 * signal handler or in the child of vfork, where dlsym's lock may be held. */
const struct pp_real *pp_real(void);

/* Ends a function of ours as the missing one would end: with -1 and ENOSYS. */
#define PP_REQUIRE(name)                                                                                               \
    do {                                                                                                               \
        if (!pp_real()->name) {                                                                                        \
            errno = ENOSYS;                                                                                            \
            return -1;                                                                                                 \
        }                                                                                                              \
    } while (0)

/* Returns a symbol of a library that dlopen returned, NULL if it has none. Normal context. */
void *pp_real_symbol(void *library, const char *name);

/* libc's syscall(), to which ours jumps; before the first pp_real() a system call of our own. */
extern long (*pp_real_syscall)(long, long, long, long, long, long, long);

#endif
