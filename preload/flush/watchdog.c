/* SPDX-License-Identifier: Apache-2.0 */
#include "watchdog.h"
#include "../account/account.h"
#include "../base/proc_file.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../threads/perf_clock.h"
#include "../threads/registry.h"
#include <time.h>

#define OVERDUE_TIMES 2 /* of overdue_ns: work between the ticks is overdue often enough */
#define HOPELESS      2 /* renewals after which the thread's mask is read */
#define STATUS_MAX    4096

static bool timer_exists(const struct pp_slot *slot)
{
    struct itimerspec times;
    return pp_syscall4(SYS_timer_gettime, atomic_load(&slot->timer), (long)&times, 0, 0) == 0;
}

/* Whether the thread is to follow our signal when it runs: until then it blocks it. */
static bool is_to_follow(const struct pp_slot *slot)
{
    return slot->thread.profiler_signal != atomic_load(&pp_capture.signal);
}

/* The kernel knows the mask: our own functions in front of libc's never let it be blocked. Our handler blocks all. */
static bool blocks_signal(const struct pp_slot *slot)
{
    static char status[STATUS_MAX];
    if (atomic_load(&slot->in_handler))
        return false;
    status[pp_read_task_file(atomic_load(&slot->tid), "status", status, sizeof status - 1)] = 0;
    return pp_status_mask(status, "SigBlk") & pp_profiler_signal_bit() && !atomic_load(&slot->in_handler);
}

static void renew(struct pp_slot *slot, uint64_t *reasons)
{
    slot->flush.watched_ns = slot->flush.clock_ns;
    if (atomic_load(&slot->timer) >= 0 && !timer_exists(slot))
        reasons[PP_REASON_TIMER_GONE]++;
    pp_timer_renew(slot);
    if (++slot->flush.renewals >= HOPELESS && !is_to_follow(slot) && blocks_signal(slot))
        pp_thread_unreachable(slot);
}

static void check(struct pp_slot *slot, uint64_t deadline_ns, uint64_t *reasons)
{
    uint64_t clock_ns = slot->flush.clock_ns, sampled_ns = atomic_load(&slot->thread.cpu_end_ns);
    int timer = atomic_load(&slot->timer);
    bool sampled = sampled_ns > slot->flush.watched_ns;
    if (sampled) {
        slot->flush.watched_ns = sampled_ns;
        slot->flush.renewals = 0;
    }
    bool missed = clock_ns > slot->flush.watched_ns + deadline_ns || pp_account_in_step(slot, pp_sys_tick_ns());
    if (timer >= 0)
        pp_event_follow(slot, missed);
    if (timer < PP_TIMER_NONE) {
        if (timer != PP_TIMER_ENDED && clock_ns > deadline_ns)
            pp_thread_unreachable(slot);
    } else if (clock_ns > slot->flush.watched_ns + (timer == PP_TIMER_NONE ? 0 : deadline_ns)) {
        renew(slot, reasons);
    } else {
        pp_timer_follow(slot, sampled);
    }
}

void pp_watchdog_check(uint64_t overdue_ns, uint64_t *reasons)
{
    if (!pp_is_enabled() || atomic_load(&pp_capture.stopped))
        return;
    if (atomic_load(&pp_capture.traces_pause))
        overdue_ns += PP_TIMER_SLOW_NS;
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (atomic_load(&slot->state) == PP_SLOT_LIVE && atomic_load(&slot->tid))
            check(slot, OVERDUE_TIMES * overdue_ns, reasons);
}

void pp_watchdog_check_young(uint64_t overdue_ns)
{
    if (!pp_is_enabled() || atomic_load(&pp_capture.stopped) || !atomic_load(&pp_capture.events_offered) ||
        atomic_load(&pp_capture.traces_pause))
        return;
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        if (atomic_load(&slot->state) != PP_SLOT_LIVE || atomic_load(&slot->timer) < 0 ||
            atomic_load(&slot->thread.event_period_ns))
            continue;
        uint64_t clock_ns = pp_sys_clock_ns(pp_thread_cpu_clock(atomic_load(&slot->tid)));
        if (clock_ns > atomic_load(&slot->thread.cpu_end_ns) + OVERDUE_TIMES * overdue_ns)
            pp_event_follow(slot, true);
    }
}
