/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps the functions that set signal masks. Threads that block everything (uwsgi's request threads, libzmq,
 * librdkafka) would never be sampled, so our signal is kept out of these masks; the program reads back what it set. A
 * program that blocks our signal by name, or waits for it by name, gets it for itself (threads/signal.c). */
#include "../base/libc.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../threads/registry.h"
#include "../threads/signal.h"
#include "../threads/thread_slot.h"
#include <errno.h>
#include <sys/signalfd.h>

typedef int mask_function(int, const sigset_t *, sigset_t *);

static int change_mask(mask_function *libc_function, int how, const sigset_t *set, sigset_t *old)
{
    struct pp_slot *slot = pp_slot_here();
    /* in our handler libunwind calls this: our signal must stay blocked there, or it would nest */
    if (!slot || atomic_load_explicit(&slot->in_handler, memory_order_relaxed))
        return libc_function(how, set, old);
    if (set && how != SIG_UNBLOCK)
        pp_signal_give_away(set);
    pp_signal_follow(slot);
    bool blocked_before = slot->thread.believes_blocked, blocked = blocked_before;
    int signal = slot->thread.profiler_signal;
    uint64_t bit = (uint64_t)1 << (signal - 1);
    sigset_t wanted;
    if (set) {
        bool named = set->__val[0] & bit;
        wanted = *set;
        if (how != SIG_UNBLOCK)
            wanted.__val[0] &= ~bit;
        if (how == SIG_SETMASK || named)
            blocked = named && how != SIG_UNBLOCK;
    }
    int result = libc_function(how, set ? &wanted : NULL, old);
    if (result != 0)
        return result;
    if (slot->thread.profiler_signal == signal) {
        slot->thread.believes_blocked = blocked;
    } else { /* our signal became another in between */
        if (blocked)
            pp_sys_signal_mask(SIG_BLOCK, bit);
        pp_thread_unblock(slot);
    }
    if (old && blocked_before)
        old->__val[0] |= bit;
    return 0;
}

PP_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    mask_function *libc_function = pp_real()->pthread_sigmask;
    return libc_function ? change_mask(libc_function, how, set, old) : ENOSYS;
}

PP_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    PP_REQUIRE(sigprocmask);
    return change_mask(pp_real()->sigprocmask, how, set, old);
}

/* Changes the mask by the first 32 signals. Returns what was blocked before, or -1. */
static int change_by(int how, uint64_t signals)
{
    sigset_t set = {{signals}}, before;
    return sigprocmask(how, &set, &before) == 0 ? (int)before.__val[0] : -1;
}

static int change_by_one(int how, int number)
{
    if (number < 1 || number > 64) {
        errno = EINVAL;
        return -1;
    }
    sigset_t set = {{(uint64_t)1 << (number - 1)}};
    return sigprocmask(how, &set, NULL);
}

PP_EXPORT int sighold(int number)
{
    return change_by_one(SIG_BLOCK, number);
}

PP_EXPORT int sigrelse(int number)
{
    return change_by_one(SIG_UNBLOCK, number);
}

PP_EXPORT int sigblock(int mask)
{
    return change_by(SIG_BLOCK, (uint32_t)mask);
}

PP_EXPORT int sigsetmask(int mask)
{
    return change_by(SIG_SETMASK, (uint32_t)mask);
}

PP_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    PP_REQUIRE(signalfd);
    pp_signal_give_away(set);
    return pp_real()->signalfd(fd, set, flags);
}

PP_EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                           const struct timespec *restrict timeout)
{
    PP_REQUIRE(sigtimedwait);
    pp_signal_give_away(set);
    struct pp_slot *slot = pp_is_enabled() ? pp_slot_here() : NULL;
    if (!slot)
        return pp_real()->sigtimedwait(set, info, timeout);
    for (;;) {
        pp_signal_follow(slot);
        int own = slot->thread.profiler_signal;
        sigset_t waited = pp_signal_waited(slot, set);
        int taken = pp_real()->sigtimedwait(&waited, info, timeout);
        if (taken >= 0 || errno != EINTR || slot->thread.profiler_signal == own)
            return taken; /* else it was asked to follow our signal */
    }
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
