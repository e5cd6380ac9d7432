/* The libc functions that we stand in front of, and the real ones behind them. */
#ifndef PP_INTERPOSE_H
#define PP_INTERPOSE_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define PP_EXPORT __attribute__((visibility("default")))

/* Looked up by dlsym(RTLD_NEXT), not imported: their default versions are newer than GLIBC_2.17, and musl lacks some.
 */
struct pp_real {
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*pthread_condattr_setclock)(pthread_condattr_t *, clockid_t);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    __sighandler_t (*signal)(int, __sighandler_t);
    int (*sigprocmask)(int, const sigset_t *, sigset_t *);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
    int (*signalfd)(int, const sigset_t *, int);
    int (*pthread_attr_init)(pthread_attr_t *);
    int (*pthread_attr_setstacksize)(pthread_attr_t *, size_t);
    int (*pthread_attr_getstacksize)(const pthread_attr_t *, size_t *);
    int (*pthread_attr_destroy)(pthread_attr_t *);
    int (*pthread_key_create)(pthread_key_t *, void (*)(void *));
    int (*pthread_setspecific)(pthread_key_t, const void *);
    void *(*pthread_getspecific)(pthread_key_t);
    int (*pthread_join)(pthread_t, void **);
    int (*prctl)(int, ...);
    int (*unshare)(int);
    int (*setns)(int, int);
    pid_t (*fork)(void);
    pid_t (*forkpty)(int *, char *, const void *, const void *);
    int (*daemon)(int, int);
    int (*clone)(int (*)(void *), void *, int, void *, ...);
    void *(*dlopen)(const char *, int);
    FILE *(*fopen)(const char *, const char *);
    FILE *(*fopen64)(const char *, const char *);
    void (*exit_now)(int);
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execv)(const char *, char *const[]);
    int (*execvp)(const char *, char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*pthread_key_delete)(pthread_key_t);
    void (*quick_exit)(int);
    int (*kill)(pid_t, int);
    int (*raise)(int);
    void (*abort)(void) __attribute__((noreturn));
};

/* The real functions; looks them up at the first call. NULL when libc is not one that we know (then only pass-through
 * by whatever was found). Normal context. */
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
