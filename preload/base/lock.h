/* SPDX-License-Identifier: Apache-2.0 */
/* Implements a small lock on a futex: 0 free, 1 held, 2 held with waiters. Unlike a pthread mutex it has no owner, so
 * the child of fork may simply open it again, and it needs nothing from libc. Never taken in a handler. Not recursive.
 */
#ifndef PP_BASE_LOCK_H
#define PP_BASE_LOCK_H

#include "check.h"
#include "syscalls.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Sleeps while the word has this value, for so long at most. */
static inline void pp_wait_on(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec timeout = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    pp_syscall4(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, (long)&timeout);
}

static inline void pp_wake_all(_Atomic uint32_t *word)
{
    pp_syscall4(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
}

struct pp_lock {
    _Atomic uint32_t word;
};

static inline bool pp_lock_try(struct pp_lock *lock)
{
    uint32_t seen = 0;
    return atomic_compare_exchange_strong_explicit(&lock->word, &seen, 1, memory_order_acquire, memory_order_relaxed);
}

static inline void pp_lock_acquire(struct pp_lock *lock)
{
    if (pp_lock_try(lock))
        return;
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
        pp_syscall4(SYS_futex, (long)&lock->word, FUTEX_WAIT_PRIVATE, 2, 0);
}

static inline void pp_lock_release(struct pp_lock *lock)
{
    uint32_t held = atomic_exchange_explicit(&lock->word, 0, memory_order_release);
    PP_CHECK(held);
    if (held == 2)
        pp_syscall4(SYS_futex, (long)&lock->word, FUTEX_WAKE_PRIVATE, 1, 0);
}

/* Runs in the child of fork, where the holder does not exist any more. */
static inline void pp_lock_reset(struct pp_lock *lock)
{
    atomic_store(&lock->word, 0);
}

#endif
