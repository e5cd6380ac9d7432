#include "timers.h"
#include "config.h"
#include "syscalls.h"
#include <signal.h>

#define NS_PER_SECOND 1000000000u
#define PERMILLE      1000u /* of the period */
#define SPREAD        50u

int pp_timer_arm(struct pp_slot *slot, enum pp_first_expiry first_expiry)
{
    int tid = atomic_load(&slot->tid), id = -1;
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = pp_config.signal;
    event.sigev_value.sival_ptr = (void *)pp_slot_sigval(slot->index);
    event._sigev_un._tid = tid;
    long error = pp_syscall4(SYS_timer_create, pp_thread_cpu_clock(tid), (long)&event, (long)&id, 0);
    if (error)
        return (int)-error;
    uint64_t random = pp_random();
    uint64_t period = pp_config.period_ns * (PERMILLE - SPREAD + (random >> 32) % (2 * SPREAD + 1)) / PERMILLE;
    uint64_t first = first_expiry == PP_FIRST_TICK ? 1 : (random & UINT32_MAX) % period + 1;
    struct itimerspec times = {
        .it_interval = {(time_t)(period / NS_PER_SECOND), (long)(period % NS_PER_SECOND)},
        .it_value = {(time_t)(first / NS_PER_SECOND), (long)(first % NS_PER_SECOND)},
    };
    slot->timer = id;
    error = pp_syscall4(SYS_timer_settime, id, 0, (long)&times, 0);
    if (error)
        pp_timer_disarm(slot);
    return (int)-error;
}

void pp_timer_disarm(struct pp_slot *slot)
{
    if (slot->timer >= 0)
        pp_syscall4(SYS_timer_delete, slot->timer, 0, 0, 0);
    slot->timer = -1;
}
