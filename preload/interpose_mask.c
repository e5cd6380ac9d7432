/*
 * Signal masks. Threads that block everything (uwsgi's request threads, libzmq, librdkafka) would never be sampled, so
 * our signal is kept out of every mask; the application reads back what it set. One of its own that comes meanwhile
 * waits as it should (capture/foreign.c): for the calls here that take a signal, or let it through while they last.
 */
#include "capture/foreign.h"
#include "config.h"
#include "interpose.h"
#include "syscalls.h"
#include "threads.h"
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

typedef int mask_function(int, const sigset_t *, sigset_t *);

/* sigismember and its like check their arguments and set errno: these are for one known signal. */
static bool has_signal(const sigset_t *set)
{
    return set->__val[0] >> (pp_config.signal - 1) & 1;
}

static uint64_t own_signal(void)
{
    return (uint64_t)1 << (pp_config.signal - 1);
}

static void put_signal(sigset_t *set, bool member)
{
    unsigned long bit = 1ul << (pp_config.signal - 1);
    set->__val[0] = member ? set->__val[0] | bit : set->__val[0] & ~bit;
}

/* The thread believes that it blocks the signal, and one waited in it: if that has been taken the thread is sampled
 * again, if another one waits it is held again. async-signal-safe. */
static void look_again(struct pp_slot *slot)
{
    atomic_store(&slot->holds, 0);
    pp_sys_signal_mask(SIG_UNBLOCK, own_signal());
    if (!atomic_load(&slot->holds) && atomic_load(&slot->timer) < 0 && !slot->never_armed)
        pp_timer_arm(slot, PP_FIRST_RANDOM);
}

static int change_mask(mask_function *libc_function, int how, const sigset_t *set, sigset_t *old)
{
    struct pp_slot *slot = pp_slot_here();
    /* in our handler it is libunwind that asks: there our signal has to stay blocked, or one would come on top */
    if (!slot || atomic_load_explicit(&slot->in_handler, memory_order_relaxed))
        return libc_function(how, set, old);
    sigset_t wanted;
    bool blocked_before = slot->application_blocks, blocks = blocked_before;
    if (set) {
        bool named = has_signal(set);
        wanted = *set;
        if (how != SIG_UNBLOCK)
            put_signal(&wanted, false);
        if (how == SIG_SETMASK)
            blocks = named;
        else if (named)
            blocks = how == SIG_BLOCK;
    }
    /* what waits comes within the call: by then the thread no longer blocks it */
    slot->application_blocks = blocked_before && blocks;
    bool held = atomic_load(&slot->holds);
    if (!blocks)
        atomic_store(&slot->holds, 0);
    int result = libc_function(how, set ? &wanted : NULL, old);
    slot->application_blocks = result == 0 ? blocks : blocked_before;
    /* who knows who has taken it: a read of a signalfd, another thread */
    if (held)
        look_again(slot);
    if (result != 0)
        return result;
    if (old)
        put_signal(old, blocked_before);
    return 0;
}

PP_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    mask_function *libc_function = pp_real()->pthread_sigmask;
    return libc_function ? change_mask(libc_function, how, set, old) : ENOSYS;
}

PP_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    mask_function *libc_function = pp_real()->sigprocmask;
    if (libc_function)
        return change_mask(libc_function, how, set, old);
    errno = ENOSYS;
    return -1;
}

/* The slot of a thread that blocks our signal as it believes, and calls what lets it through. Until then it is blocked
 * in truth: one that came in between would run its handler too early, and the call would wait for ever. */
static struct pp_slot *let_through(const sigset_t *mask)
{
    struct pp_slot *slot = mask && !has_signal(mask) ? pp_slot_here() : NULL;
    if (!slot || !slot->application_blocks)
        return NULL;
    pp_sys_signal_mask(SIG_BLOCK, own_signal());
    /* a tick that waited would end the call with EINTR */
    pp_timer_disarm(slot);
    pp_drop_ticks(pp_config.signal);
    slot->application_blocks = false;
    return slot;
}

static void let_through_no_more(struct pp_slot *slot)
{
    slot->application_blocks = true;
    look_again(slot);
}

/* Calls one of libc's functions that wait with another mask. */
#define WITH_MASK(name, mask, ...)                                                                                     \
    do {                                                                                                               \
        if (!pp_real()->name) {                                                                                        \
            errno = ENOSYS;                                                                                            \
            return -1;                                                                                                 \
        }                                                                                                              \
        struct pp_slot *slot = let_through(mask);                                                                      \
        int result = pp_real()->name(__VA_ARGS__);                                                                     \
        if (slot)                                                                                                      \
            let_through_no_more(slot);                                                                                 \
        return result;                                                                                                 \
    } while (0)

PP_EXPORT int sigsuspend(const sigset_t *mask)
{
    WITH_MASK(sigsuspend, mask, mask);
}

PP_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    WITH_MASK(ppoll, mask, fds, count, timeout, mask);
}

PP_EXPORT int pselect(int count, fd_set *restrict read_set, fd_set *restrict write_set, fd_set *restrict except_set,
                      const struct timespec *restrict timeout, const sigset_t *restrict mask)
{
    WITH_MASK(pselect, mask, count, read_set, write_set, except_set, timeout, mask);
}

PP_EXPORT int epoll_pwait(int epoll, struct epoll_event *events, int most, int timeout, const sigset_t *mask)
{
    WITH_MASK(epoll_pwait, mask, epoll, events, most, timeout, mask);
}

/* Waits on while it is a tick of ours that came. One that has taken a signal is sampled again. */
static int take_signal(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    siginfo_t taken;
    struct timespec left;
    uint64_t end = 0;
    struct pp_slot *slot = has_signal(set) ? pp_slot_here() : NULL;
    if (slot && timeout) {
        end = pp_sys_clock_ns(CLOCK_MONOTONIC) + (uint64_t)timeout->tv_sec * 1000000000u + (uint64_t)timeout->tv_nsec;
        left = *timeout;
        timeout = &left;
    }
    int signal;
    for (;;) {
        signal = pp_real()->sigtimedwait(set, &taken, timeout);
        if (!slot || signal != pp_config.signal || !pp_is_own_signal(&taken))
            break;
        uint64_t now = pp_sys_clock_ns(CLOCK_MONOTONIC), ns = end > now ? end - now : 0;
        left = (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    }
    if (signal > 0 && info)
        *info = taken;
    if (slot && signal == pp_config.signal && atomic_load(&slot->holds))
        look_again(slot);
    return signal;
}

PP_EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                           const struct timespec *restrict timeout)
{
    if (pp_real()->sigtimedwait)
        return take_signal(set, info, timeout);
    errno = ENOSYS;
    return -1;
}

PP_EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    return sigtimedwait(set, info, NULL);
}

PP_EXPORT int sigwait(const sigset_t *restrict set, int *restrict signal)
{
    int taken;
    do
        taken = sigtimedwait(set, NULL, NULL);
    while (taken < 0 && errno == EINTR);
    if (taken < 0)
        return errno;
    *signal = taken;
    return 0;
}
