/*
 * Signal masks. Threads that block everything (uwsgi's request threads, libzmq, librdkafka) would never be sampled, so
 * our signal is kept out of every mask; the application reads back what it set.
 */
#include "config.h"
#include "interpose.h"
#include "threads.h"
#include <errno.h>

typedef int mask_function(int, const sigset_t *, sigset_t *);

/* sigismember and its like check their arguments and set errno: these are for one known signal. */
static bool has_signal(const sigset_t *set)
{
    return set->__val[0] >> (pp_config.signal - 1) & 1;
}

static void put_signal(sigset_t *set, bool member)
{
    unsigned long bit = 1ul << (pp_config.signal - 1);
    set->__val[0] = member ? set->__val[0] | bit : set->__val[0] & ~bit;
}

static int change_mask(mask_function *libc_function, int how, const sigset_t *set, sigset_t *old)
{
    struct pp_slot *slot = pp_slot_here();
    /* in our handler it is libunwind that asks: there our signal has to stay blocked, or one would come on top */
    if (!slot || atomic_load_explicit(&slot->in_handler, memory_order_relaxed))
        return libc_function(how, set, old);
    sigset_t wanted;
    bool blocked_before = slot->application_blocks, named = false;
    if (set) {
        wanted = *set;
        named = has_signal(set);
        if (how != SIG_UNBLOCK)
            put_signal(&wanted, false);
    }
    int result = libc_function(how, set ? &wanted : NULL, old);
    if (result != 0)
        return result;
    if (set && how == SIG_SETMASK)
        slot->application_blocks = named;
    else if (set && named)
        slot->application_blocks = how == SIG_BLOCK;
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
