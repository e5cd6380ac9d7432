/* SPDX-License-Identifier: Apache-2.0 */
#include "timers.h"
#include "../base/config.h"
#include "../base/hash.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include <signal.h>
#include <sys/resource.h>

#define NS_PER_SECOND 1000000000u
#define PERMILLE      1000u /* of the period */
#define OFF_MIN       50u
#define EACH_TICK_NS  1000u

static struct {
    _Atomic uint64_t wanted_ns; /* the period that is asked for; 0: pp_config's */
    _Atomic uint64_t period_ns; /* that the throttle has chosen; 0: the wanted */
    _Atomic uint64_t count;     /* of timers */
} timers;

uint64_t pp_timers_wanted_ns(void)
{
    uint64_t wanted = atomic_load(&timers.wanted_ns);
    return wanted ? wanted : pp_config.period_ns;
}

void pp_timers_want_ns(uint64_t period_ns)
{
    atomic_store(&timers.wanted_ns, period_ns);
}

uint64_t pp_timers_period_ns(void)
{
    uint64_t chosen = atomic_load(&timers.period_ns);
    return chosen ? chosen : pp_timers_wanted_ns();
}

uint64_t pp_timers_interval_ns(void)
{
    return atomic_load(&pp_capture.traces_pause) ? PP_TIMER_SLOW_NS : pp_timers_period_ns();
}

void pp_timers_set_period_ns(uint64_t period_ns)
{
    atomic_store(&timers.period_ns, period_ns);
}

static uint64_t time_left(int id)
{
    struct itimerspec times = {0};
    pp_syscall4(SYS_timer_gettime, id, (long)&times, 0, 0);
    return (uint64_t)times.it_value.tv_sec * NS_PER_SECOND + (uint64_t)times.it_value.tv_nsec;
}

uint64_t pp_timer_draw_ns(uint64_t random)
{
    uint64_t off = OFF_MIN + (random >> 32) % (PP_TIMER_OFF_MAX - OFF_MIN + 1);
    return pp_timers_interval_ns() * (random >> 63 ? PERMILLE + off : PERMILLE - off) / PERMILLE;
}

/* Returns the usual interval of the slot's timer. */
static uint64_t interval_of(const struct pp_slot *slot)
{
    bool each_tick = atomic_load(&slot->thread.event_period_ns) && !atomic_load(&pp_capture.traces_pause);
    return each_tick ? EACH_TICK_NS : pp_timers_interval_ns();
}

static int set_time(struct pp_slot *slot, int id, enum pp_first_expiry first_expiry)
{
    /* the last digits of a thread's clock are random enough for a drawing in each second */
    uint64_t clock_ns = atomic_load(&slot->thread.cpu_end_ns);
    uint64_t random = first_expiry == PP_FIRST_AS_DUE ? pp_hash(&clock_ns, sizeof clock_ns) : pp_sys_random();
    slot->timer_period_ns = interval_of(slot);
    uint64_t period = slot->timer_period_ns == EACH_TICK_NS ? EACH_TICK_NS : pp_timer_draw_ns(random);
    uint64_t first = first_expiry == PP_FIRST_TICK ? 1 : first_expiry == PP_FIRST_AS_DUE ? time_left(id) : 0;
    if (!first)
        first = (random & UINT32_MAX) % period + 1;
    struct itimerspec times = {
        .it_interval = {(time_t)(period / NS_PER_SECOND), (long)(period % NS_PER_SECOND)},
        .it_value = {(time_t)(first / NS_PER_SECOND), (long)(first % NS_PER_SECOND)},
    };
    return (int)-pp_syscall4(SYS_timer_settime, id, 0, (long)&times, 0);
}

static void delete_timer(int id)
{
    PP_CHECK(atomic_load(&timers.count)); /* each is deleted once */
    pp_syscall4(SYS_timer_delete, id, 0, 0, 0);
    atomic_fetch_sub(&timers.count, 1);
}

/* Reserves one of the timers that RLIMIT_SIGPENDING allows, half of which are the program's. */
static bool reserve_place(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    pp_syscall4(SYS_prlimit64, 0, RLIMIT_SIGPENDING, 0, (long)&limit);
    if (atomic_fetch_add(&timers.count, 1) < limit.rlim_cur / 2)
        return true;
    atomic_fetch_sub(&timers.count, 1);
    return false;
}

int pp_timer_arm(struct pp_slot *slot, enum pp_first_expiry first)
{
    if (atomic_load(&slot->timer) < PP_TIMER_NONE || atomic_load(&pp_capture.stopped))
        return 0;
    if (!reserve_place())
        return EAGAIN;
    int tid = atomic_load(&slot->tid), id = PP_TIMER_NONE, none = PP_TIMER_NONE;
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = atomic_load(&pp_capture.signal);
    event.sigev_value.sival_ptr = (void *)pp_slot_sigval(slot->index);
    event._sigev_un._tid = tid;
    int error = (int)-pp_syscall4(SYS_timer_create, pp_thread_cpu_clock(tid), (long)&event, (long)&id, 0);
    if (error) {
        atomic_fetch_sub(&timers.count, 1);
        return error;
    }
    error = set_time(slot, id, first);
    if (error || !atomic_compare_exchange_strong(&slot->timer, &none, id))
        delete_timer(id);
    else if (event.sigev_signo != atomic_load(&pp_capture.signal) || atomic_load(&pp_process.silent) ||
             atomic_load(&pp_capture.stopped))
        pp_timer_disarm(slot, PP_TIMER_NONE);
    return error;
}

void pp_timer_disarm(struct pp_slot *slot, enum pp_timer_life life)
{
    int was = atomic_load(&slot->timer);
    while (was >= PP_TIMER_NONE && !atomic_compare_exchange_weak(&slot->timer, &was, life))
        ;
    if (was >= 0)
        delete_timer(was);
}

void pp_timers_after_fork(void)
{
    atomic_store(&timers.period_ns, 0);
    atomic_store(&timers.count, 0);
}

void pp_timer_follow(struct pp_slot *slot, bool sampled)
{
    int id = atomic_load(&slot->timer);
    uint64_t interval_ns = interval_of(slot);
    bool changed = slot->timer_period_ns != interval_ns;
    /* a short thread's first sample comes at its first tick, whatever the rate: it is estimated by that
     * (account/short_threads.h) */
    bool waits_for_first = slot->thread.start_routine && !atomic_load(&slot->thread.cpu_end_ns);
    enum pp_first_expiry first = !changed ? PP_FIRST_AS_DUE : waits_for_first ? PP_FIRST_TICK : PP_FIRST_RANDOM;
    if (id >= 0 && (changed || (sampled && interval_ns != EACH_TICK_NS)))
        set_time(slot, id, first);
}

int pp_timer_renew(struct pp_slot *slot)
{
    pp_timer_disarm(slot, PP_TIMER_NONE);
    return pp_timer_arm(slot, PP_FIRST_RANDOM);
}
