/* SPDX-License-Identifier: Apache-2.0 */
#include "alternate_stack.h"
#include "../base/libc.h"
#include "../base/lock.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"

#define ROOMY       ((size_t)32 << 10) /* for two signals (11 KiB each with AMX), and more than any handler takes */
#define SIGNALS     64
#define BIT(signal) ((uint64_t)1 << ((signal)-1))

static struct pp_lock changing;
static _Atomic bool small;      /* some thread has a small alternate stack */
static _Atomic uint64_t masked; /* the signals in whose masks ours is, past the program */

/* sigaction is allowed in handlers: none may run on top of the lock. Returns the mask for end_change. */
static uint64_t begin_change(void)
{
    uint64_t mask = pp_sys_signal_mask(SIG_SETMASK, UINT64_MAX);
    pp_lock_take(&changing);
    return mask;
}

static void end_change(uint64_t mask)
{
    pp_lock_drop(&changing);
    pp_sys_signal_mask(SIG_SETMASK, mask);
}

static bool needs_mask(const struct sigaction *action)
{
    return atomic_load(&small) && action->sa_flags & SA_ONSTACK && action->sa_handler != SIG_DFL &&
           action->sa_handler != SIG_IGN && !(action->sa_mask.__val[0] & pp_own_signal_bit());
}

static void put_masks(void)
{
    struct sigaction now;
    for (int signal = 1; signal <= SIGNALS; signal++) {
        if (BIT(signal) == pp_own_signal_bit() || pp_real()->sigaction(signal, NULL, &now) != 0 || !needs_mask(&now))
            continue;
        now.sa_mask.__val[0] |= pp_own_signal_bit();
        if (pp_real()->sigaction(signal, &now, NULL) == 0)
            atomic_fetch_or(&masked, BIT(signal));
    }
}

static void remove_masks(uint64_t bit)
{
    struct sigaction now;
    for (int signal = 1; signal <= SIGNALS; signal++)
        if (atomic_load(&masked) & BIT(signal) && pp_real()->sigaction(signal, NULL, &now) == 0) {
            now.sa_mask.__val[0] &= ~bit;
            pp_real()->sigaction(signal, &now, NULL);
        }
    atomic_store(&masked, 0);
}

void pp_alternate_stack_set(const stack_t *stack)
{
    if (!stack || stack->ss_flags & SS_DISABLE || stack->ss_size >= ROOMY || atomic_exchange(&small, true) ||
        !pp_is_enabled() || !pp_process_is_profiled())
        return;
    uint64_t mask = begin_change();
    put_masks();
    end_change(mask);
}

void pp_alternate_stack_follow(int before)
{
    if (!atomic_load(&small))
        return;
    uint64_t mask = begin_change();
    if (before)
        remove_masks(BIT(before));
    put_masks();
    end_change(mask);
}

int pp_alternate_stack_action(int signal, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction masking;
    if (!pp_is_enabled() || !pp_process_is_profiled() || signal < 1 || signal > SIGNALS)
        return pp_real()->sigaction(signal, action, old);
    uint64_t mask = begin_change();
    bool adds = action && needs_mask(action);
    if (adds) {
        masking = *action;
        masking.sa_mask.__val[0] |= pp_own_signal_bit();
    }
    int result = pp_real()->sigaction(signal, adds ? &masking : action, old);
    if (result == 0 && old && atomic_load(&masked) & BIT(signal))
        old->sa_mask.__val[0] &= ~pp_own_signal_bit();
    if (result == 0 && adds)
        atomic_fetch_or(&masked, BIT(signal));
    else if (result == 0 && action)
        atomic_fetch_and(&masked, ~BIT(signal));
    end_change(mask);
    return result;
}

void pp_alternate_stack_after_fork(void)
{
    pp_lock_reset(&changing);
}
