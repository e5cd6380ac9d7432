/* SPDX-License-Identifier: Apache-2.0 */
/* Handles our signal: samples the thread that it runs on.
 *
 * Rules of this directory: async-signal-safe, bounded, no lock, no allocation, no libc beyond mem*, no TLS and no errno
 * (a raw-clone thread shares its creator's). tests/capture_symbols.sh checks them by the objects' symbols and code. */
#include "handler.h"
#include "../capture/capture.h"
#include "../capture/safe_read.h"
#include "../capture/slot_memory.h"
#include "due.h"
#include <string.h>

/* Returns the slot that the signal of our timer or of our event names, NULL if it comes late and its thread is gone.
 * async-signal-safe. */
static struct pp_slot *slot_of_signal(const siginfo_t *info, bool event)
{
    struct pp_slot *slot =
        pp_slot_at(event ? (uint32_t)info->si_fd - PP_EVENT_FIRST_FD : (uint32_t)(uint64_t)info->si_value.sival_ptr);
    if (!slot || atomic_load_explicit(&slot->state, memory_order_acquire) != PP_SLOT_LIVE ||
        atomic_load_explicit(&slot->tid, memory_order_relaxed) != pp_sys_gettid())
        return NULL;
    return slot;
}

/* Only this thread's handler writes these counters, so a load and a store are enough. async-signal-safe. */
static void count_cost(struct pp_slot *slot, uint64_t ns)
{
    unsigned bucket = pp_handler_bucket(ns);
#define ADD(field, n)                                                                                                  \
    atomic_store_explicit(&(field), atomic_load_explicit(&(field), memory_order_relaxed) + (n), memory_order_relaxed)
    ADD(slot->cost.histogram[bucket], 1);
    ADD(slot->cost.count, 1);
    ADD(slot->cost.sum_ns, ns);
    ADD(slot->thread.profiler_ns, ns);
#undef ADD
    if (ns > atomic_load_explicit(&slot->cost.max_ns, memory_order_relaxed))
        atomic_store_explicit(&slot->cost.max_ns, ns, memory_order_relaxed);
}

/* Moves the thread to our new signal; it gets its mask when we return. async-signal-safe. */
PP_RARE static void follow_signal(ucontext_t *registers)
{
    struct pp_slot *slot = pp_slot_of(pp_sys_gettid());
    uint64_t mask;
    if (!slot)
        return;
    memcpy(&mask, &registers->uc_sigmask, sizeof mask);
    mask = pp_slot_follow_signal(slot, mask);
    memcpy(&registers->uc_sigmask, &mask, sizeof mask);
}

/* Takes the default action for a signal that our timers did not send. The program has no handler for it, or our timers
 * would use another signal. SIGURG's is to be ignored, as it is when it has no handler: no call ends early by it. Other
 * signals end the process once we return and the signal is unblocked. async-signal-safe. */
PP_RARE static void act_by_default(int signal)
{
    if (signal == SIGURG && atomic_load(&pp_capture.signal) == SIGURG && pp_is_enabled())
        pp_wake_flush(PP_WAKE_SIGNAL);
    if (signal == SIGURG || atomic_load(&pp_capture.application_reacts))
        return;
    const struct pp_slot *slot = pp_slot_of(pp_sys_gettid());
    if (slot && slot->thread.believes_blocked && slot->thread.profiler_signal == signal)
        return;
    uint64_t default_action[4] = {0};
    pp_syscall4(SYS_rt_sigaction, signal, (long)default_action, 0, 8);
    pp_syscall4(SYS_tgkill, pp_sys_getpid(), pp_sys_gettid(), signal, 0);
}

/* Whether this thread's samples cost enough for a review before the next flush. async-signal-safe. */
static bool is_costly(const struct pp_slot *slot)
{
    uint64_t limit_ns = atomic_load_explicit(&pp_capture.review_ns, memory_order_relaxed);
    return limit_ns && atomic_load_explicit(&slot->cost.sum_ns, memory_order_relaxed) -
                               atomic_load_explicit(&slot->cost.reviewed_ns, memory_order_relaxed) >
                           limit_ns;
}

/* async-signal-safe. */
static void sample_if_selected(struct pp_slot *slot, const ucontext_t *registers, uint64_t cpu_ns, uint64_t due_ns)
{
    slot->scratch->pc = pp_context_pc(registers);
    bool selects = pp_capture.traces_only && !atomic_load_explicit(&pp_capture.pauses, memory_order_relaxed);
    /* samples that are not selected are not in the ring, so what is due by another clock is not known */
    if (!selects || !pp_count_not_selected(slot, cpu_ns))
        pp_take_sample(slot, registers, cpu_ns, pp_capture.traces_only ? 0 : due_ns);
}

void pp_handle_signal(int signal, siginfo_t *info, void *registers)
{
    uint64_t mark = info->si_code == SI_TIMER ? (uint64_t)info->si_value.sival_ptr >> 32 : 0;
    bool event = signal == SIGURG && info->si_code == POLL_IN;
    if (mark == PP_SIGVAL_FOLLOW)
        follow_signal(registers);
    else if (mark != PP_SIGVAL_MAGIC && !event)
        act_by_default(signal);
    if (mark != PP_SIGVAL_MAGIC && !event)
        return;
    pp_allow_unaligned();
    /* without a system call: a seccomp filter may forbid it */
    struct pp_slot *slot = pp_is_enabled() ? slot_of_signal(info, event) : NULL;
    if (!slot)
        return;
    uint64_t start = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID), due_ns;
    bool has_event = atomic_load_explicit(&slot->thread.event_period_ns, memory_order_relaxed);
    uint64_t now_ns = has_event ? pp_sys_clock_ns(CLOCK_MONOTONIC) : 0;
    if (!pp_is_due(slot, &(struct pp_signal){event, registers, start, now_ns}, &due_ns))
        return;
    PP_CHECK(!atomic_load(&slot->in_handler)); /* all signals are blocked: no handler interrupts another */
    /* sequentially consistent: by this flag the flush thread knows when unwind tables can be freed */
    atomic_store(&slot->in_handler, 1);
    if (pp_slot_memory_begin(slot)) {
        sample_if_selected(slot, registers, start, due_ns);
        pp_slot_memory_end(slot);
    } else {
        pp_lose_sample(slot, start);
    }
    atomic_store_explicit(&slot->in_handler, 0, memory_order_release);
    uint64_t end = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    count_cost(slot, end - start);
    atomic_store_explicit(&slot->thread.cpu_end_ns, end, memory_order_relaxed);
    if (pp_ring_used(&slot->ring) > slot->ring.size / 2)
        pp_wake_flush(PP_WAKE_DRAIN);
    if (is_costly(slot))
        pp_wake_flush(PP_WAKE_COST);
}
