/* SPDX-License-Identifier: Apache-2.0 */
/* base/ is what every wing uses: system calls, locks, memory, text, /proc, and in this header libc's own functions,
 * which those of interpose/ wrap. */
#ifndef PP_BASE_LIBC_H
#define PP_BASE_LIBC_H

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PP_EXPORT __attribute__((visibility("default")))

/* in no header of libc's */
int capset(void *header, const void *data);
/* what callers call that are compiled with _FORTIFY_SOURCE */
int __poll_chk(struct pollfd *descriptors, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *descriptors, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                size_t size);
ssize_t __recv_chk(int socket, void *data, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int socket, void *restrict data, size_t size, size_t room, int flags,
                       struct sockaddr *restrict from, socklen_t *restrict from_size);
ssize_t __read_chk(int descriptor, void *data, size_t size, size_t room);
size_t __pthread_get_minstack(const pthread_attr_t *attributes); /* glibc: with what all libraries' TLS takes */

/* The functions that are looked up, not imported: their default versions are newer than GLIBC_2.17, and musl lacks
 * some. An interposed function needs its name here and a wrapper in interpose/. */
/* clang-format off */
#define PP_REAL_FUNCTIONS(X) \
    X(pthread_create) X(pthread_condattr_setclock) X(pthread_sigmask) X(sigaction) X(signal) \
    X(sigprocmask) X(sigtimedwait) X(signalfd) X(pthread_attr_init) X(pthread_attr_setstacksize) \
    X(pthread_attr_getstacksize) X(pthread_attr_destroy) X(pthread_key_create) X(pthread_key_delete) \
    X(pthread_setspecific) X(pthread_getspecific) X(pthread_join) X(prctl) X(syscall) X(unshare) \
    X(setns) X(capset) X(fork) X(forkpty) X(daemon) X(clone) X(dlopen) X(fopen) X(fopen64) X(_exit) \
    X(quick_exit) X(kill) X(raise) X(abort) X(execve) X(execv) X(execvp) X(execvpe) X(fexecve) \
    X(execveat) X(__pthread_get_minstack) PP_REAL_WAITS(X)

/* Those of interpose/waits.c. */
#define PP_REAL_WAITS(X) \
    X(poll) X(ppoll) X(__poll_chk) X(__ppoll_chk) X(select) X(pselect) X(epoll_wait) X(epoll_pwait) \
    X(epoll_pwait2) X(nanosleep) X(clock_nanosleep) X(usleep) X(sleep) X(sem_wait) X(sem_timedwait) \
    X(sem_clockwait) X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_cond_clockwait) X(pause) \
    X(sigsuspend) X(msgrcv) X(msgsnd) X(semop) X(semtimedop) X(wait) X(waitpid) X(wait4) X(waitid) \
    X(accept) X(accept4) X(connect) X(recv) X(__recv_chk) X(recvfrom) X(__recvfrom_chk) X(recvmsg) \
    X(send) X(sendto) X(sendmsg) X(sendfile) X(sendfile64) X(read) X(__read_chk) X(readv) X(write) \
    X(writev)
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
