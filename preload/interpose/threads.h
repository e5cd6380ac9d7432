/* The libc functions that we stand in front of, and the real ones behind them. */
#ifndef PP_INTERPOSE_H
#define PP_INTERPOSE_H

#include <dlfcn.h>
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

int capset(void *header, const void *data); /* in no header of libc's */

/* The functions that are looked up, not imported: their default versions are newer than GLIBC_2.17, and musl lacks
 * some. */
/* clang-format off */
#define PP_REAL_FUNCTIONS(X) \
    X(pthread_create) X(pthread_condattr_setclock) X(pthread_sigmask) X(sigaction) X(signal) \
    X(sigprocmask) X(sigtimedwait) X(signalfd) X(pthread_attr_init) X(pthread_attr_setstacksize) \
    X(pthread_attr_getstacksize) X(pthread_attr_destroy) X(pthread_key_create) X(pthread_key_delete) \
    X(pthread_setspecific) X(pthread_getspecific) X(pthread_join) X(prctl) X(syscall) X(unshare) \
    X(setns) X(capset) X(fork) X(forkpty) X(daemon) X(clone) X(dlopen) X(fopen) X(fopen64) X(_exit) \
    X(quick_exit) X(kill) X(raise) X(abort) X(execve) X(execv) X(execvp) X(execvpe) X(fexecve) \
    X(execveat)
/* clang-format on */

struct pp_real {
#define PP_REAL_MEMBER(name) __typeof__(name) *name;
    PP_REAL_FUNCTIONS(PP_REAL_MEMBER)
#undef PP_REAL_MEMBER
};

/* The functions that ours stand in front of, libc's or those of another library that is preloaded after this one;
 * looks them up at the first call. NULL where there is none. async-signal-safe on glibc: the first call may come in a
 * signal handler or in the child of vfork, where dlsym's lock may be held. */
const struct pp_real *pp_real(void);

/* A symbol of a library that dlopen gave, NULL if it has none. Normal context. */
void *pp_real_symbol(void *library, const char *name);

/* Makes pthread_create register the threads that it makes. */
bool pp_interpose_start(void);

/* From here on all functions pass through. */
void pp_interpose_stop(void);

/* Chooses the signal and puts our handler in place of its default action. */
bool pp_interpose_install_handler(void);
/* Puts our handler in place again if something has set another action past our functions. Flush thread. */
void pp_interpose_check_action(void);
/* The program wants the signals of this set for itself: if ours is named, our timers move to another. Normal context.
 */
void pp_interpose_give_away(const sigset_t *wanted);
/* After our signal has changed: the calling thread blocks the old one if it believes so, and not the new one. */
void pp_interpose_follow_signal(void);
void pp_interpose_action_after_fork(void);

struct pp_slot;
/* Ties the calling thread to its slot: its end is noticed, and pp_slot_here finds it. */
void pp_interpose_thread(struct pp_slot *slot);
/* The calling thread's slot if it was tied to one, else NULL. async-signal-safe. */
struct pp_slot *pp_slot_here(void);

#endif
