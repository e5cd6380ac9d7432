/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "../base/syscalls.h"
#include <linux/futex.h>

struct pp_capture pp_capture;

void pp_wake_flush(enum pp_wake why)
{
    if (atomic_fetch_or_explicit(&pp_capture.wake, why, memory_order_release) == 0)
        pp_syscall4(SYS_futex, (long)&pp_capture.wake, FUTEX_WAKE_PRIVATE, 1, 0);
}

struct pp_slot *pp_slot_of(int tid)
{
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (atomic_load(&slot->state) == PP_SLOT_LIVE && atomic_load(&slot->tid) == tid)
            return slot;
    return NULL;
}

uint64_t pp_slot_follow_signal(struct pp_slot *slot, uint64_t mask)
{
    int signal = atomic_load_explicit(&pp_capture.signal, memory_order_relaxed), former = slot->thread.profiler_signal;
    if (former == signal)
        return mask;
    uint64_t bit = (uint64_t)1 << (signal - 1);
    if (slot->thread.believes_blocked)
        mask |= (uint64_t)1 << (former - 1);
    slot->thread.believes_blocked = (mask & bit) != 0;
    slot->thread.profiler_signal = signal;
    return mask & ~bit;
}
