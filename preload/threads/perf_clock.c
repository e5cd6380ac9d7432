/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_clock.h"
#include "../base/config.h"
#include "../base/fd_table.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "timers.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

#define NS_PER_SECOND 1000000000u
#define WORTH_NS      500000u   /* CPU time of a thread that is worth an event without a sample */
#define YOUNG_NS      50000000u /* from the first of some threads that begin to the events for those that live on */
#define FIRST_MIN     8u        /* the first period is this part of the period or more */
#define END_NS        50000000u /* at most, for the flush thread to end all events */
#define PAUSE_NS      100000
#define SET_OWNER     15 /* F_SETOWN_EX */
#define SET_SIGNAL    10 /* F_SETSIG */

static struct {
    bool permitted;
    const char *clock;     /* in words */
    _Atomic uint32_t open; /* events */
    uint64_t young_end_ns; /* CLOCK_MONOTONIC: threads that have begun get their events; 0: none has */
    const char *_Atomic ended_by;
    struct event {
        int tid;              /* 0: none */
        bool refused;         /* the thread of this tid cannot have one */
        uint64_t interval_ns; /* for which the period was drawn */
    } slots[PP_EVENT_SLOTS];
} events;

const char pp_events_need_sigurg[] = "SIGURG is not our signal";

static int descriptor_of(const struct pp_slot *slot)
{
    return PP_EVENT_FIRST_FD + (int)slot->index;
}

static int open_event(int tid, uint64_t period_ns)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = period_ns,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    return (int)pp_syscall6(SYS_perf_event_open, (long)&attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
}

/* Returns why there are no events here, NULL if there may be. */
static const char *obstacle(void)
{
    if (!pp_fd_table_here())
        return "the kernel has no descriptor table for our thread (Linux 5.9)";
    if (atomic_load(&events.ended_by))
        return atomic_load(&events.ended_by);
    if (atomic_load(&pp_capture.signal) != SIGURG)
        return pp_events_need_sigurg;
    int descriptor = open_event(pp_sys_gettid(), pp_timers_wanted_ns());
    if (descriptor < 0)
        return descriptor == -EMFILE ? "too few descriptors are allowed (ulimit -n)"
                                     : "perf_event_open is not permitted (kernel.perf_event_paranoid, seccomp)";
    pp_sys_close(descriptor);
    return NULL;
}

static void say_obstacle(const char *why)
{
    static char texts[2][160]; /* the text that is in the log is not changed */
    char *text = texts[events.clock == texts[0]];
    events.clock = pp_format(text, sizeof texts[0], "kernel ticks; no perf events: %s", why);
}

void pp_events_begin(void)
{
    if (pp_config.clock == PP_CLOCK_TICK)
        return;
    memset(events.slots, 0, sizeof events.slots);
    atomic_store(&events.open, 0);
    events.young_end_ns = 0;
    uint64_t period_ns = pp_timers_wanted_ns();
    bool finer = period_ns < pp_sys_tick_ns(), all = finer || pp_config.clock == PP_CLOCK_PERF;
    const char *why = obstacle();
    events.permitted = !why;
    atomic_store(&pp_capture.events_wanted, !why && all);
    atomic_store(&pp_capture.events_offered, !why && !all);
    events.clock = all ? "perf events" : "kernel ticks; perf events for threads that wait often";
    if (!why)
        return;
    say_obstacle(why);
    if (period_ns < NS_PER_SECOND / PP_HIGHEST_TICK_HZ)
        pp_warn_once(PP_CAUSE_CLOCK,
                     "PYPROF_HZ=%lu needs perf events: %s; using kernel ticks, %lu samples per CPU second at most",
                     NS_PER_SECOND / period_ns, why, NS_PER_SECOND / pp_sys_tick_ns());
}

const char *pp_events_clock(void)
{
    return events.clock;
}

void pp_event_close(struct pp_slot *slot)
{
    struct event *event = slot->index < PP_EVENT_SLOTS ? &events.slots[slot->index] : NULL;
    if (!event || !event->tid)
        return;
    if (!event->refused) {
        atomic_store(&slot->thread.event_period_ns, 0);
        pp_sys_close(descriptor_of(slot));
        atomic_fetch_sub(&events.open, 1);
        pp_timer_follow(slot, false);
    }
    *event = (struct event){0};
}

void pp_events_forget(void)
{
    atomic_store(&pp_capture.events_wanted, 0);
    atomic_store(&pp_capture.events_offered, 0);
    for (struct pp_slot *slot = pp_slot_at(0); slot && slot->index < PP_EVENT_SLOTS; slot = pp_slot_at(slot->index + 1))
        pp_event_close(slot);
    events.permitted = false;
}

static void end_if_told(void)
{
    const char *why = atomic_load(&events.ended_by);
    if (!why || !events.clock)
        return;
    pp_events_forget();
    say_obstacle(why);
}

void pp_events_after_fork(void)
{
    atomic_store(&pp_capture.events_wanted, 0);
    atomic_store(&pp_capture.events_offered, 0);
    atomic_store(&events.open, 0);
    atomic_store(&events.ended_by, NULL);
}

/* Moves the event to its slot's descriptor and has it signal the thread. Returns whether it does. */
static bool direct(int opened, int wanted, int tid)
{
    struct f_owner_ex {
        int type, pid;
    } owner = {0 /* F_OWNER_TID */, tid};
    int descriptor = (int)pp_syscall4(SYS_fcntl, opened, F_DUPFD_CLOEXEC, wanted, 0);
    pp_sys_close(opened);
    if (descriptor < 0) {
        events.clock = "perf events; kernel ticks for threads whose event RLIMIT_NOFILE does not allow";
        return false;
    }
    if (descriptor == wanted && pp_syscall4(SYS_fcntl, descriptor, SET_OWNER, (long)&owner, 0) == 0 &&
        pp_syscall4(SYS_fcntl, descriptor, SET_SIGNAL, SIGURG, 0) == 0 &&
        pp_syscall4(SYS_fcntl, descriptor, F_SETFL, O_ASYNC, 0) == 0 &&
        pp_syscall4(SYS_ioctl, descriptor, PERF_EVENT_IOC_ENABLE, 0, 0) == 0)
        return true;
    pp_sys_close(descriptor);
    return false;
}

/* Returns the time to the first signal, at random: threads whose samples are few would have half a sample less. The
 * event signals with that period until it gets its own. */
static uint64_t first_period_ns(uint64_t period_ns)
{
    uint64_t least_ns = period_ns / FIRST_MIN;
    return period_ns < pp_sys_tick_ns() ? period_ns : least_ns + pp_sys_random() % (period_ns - least_ns);
}

static void give_event(struct pp_slot *slot, struct event *event)
{
    int tid = atomic_load(&slot->tid);
    uint64_t due_ns = pp_timer_draw_ns(pp_sys_random()), period_ns = first_period_ns(due_ns);
    *event = (struct event){tid, true, pp_timers_interval_ns()};
    int opened = open_event(tid, period_ns);
    if (opened < 0)
        return;
    /* first: the event may signal at once */
    atomic_fetch_add(&events.open, 1);
    atomic_store(&slot->thread.event_begun_ns, pp_sys_clock_ns(pp_thread_cpu_clock(tid)));
    atomic_store(&slot->thread.event_due_ns, due_ns);
    atomic_store(&slot->thread.event_period_ns, period_ns);
    event->refused = !direct(opened, descriptor_of(slot), tid);
    if (event->refused) {
        atomic_store(&slot->thread.event_period_ns, 0);
        atomic_fetch_sub(&events.open, 1);
    } else {
        pp_timer_follow(slot, false);
    }
    end_if_told();
}

static void draw_again(struct pp_slot *slot, struct event *event)
{
    uint64_t period_ns = pp_timer_draw_ns(pp_sys_random());
    event->interval_ns = pp_timers_interval_ns();
    atomic_store(&slot->thread.event_period_ns, period_ns);
    atomic_store(&slot->thread.event_due_ns, period_ns);
    pp_syscall4(SYS_ioctl, descriptor_of(slot), PERF_EVENT_IOC_PERIOD, (long)&period_ns, 0);
}

void pp_event_follow(struct pp_slot *slot, bool missed)
{
    if (!events.permitted || slot->index >= PP_EVENT_SLOTS || atomic_load(&pp_capture.stopped))
        return;
    struct event *event = &events.slots[slot->index];
    if (event->tid && event->tid != atomic_load(&slot->tid))
        pp_event_close(slot);
    if (event->refused)
        return;
    bool asked = atomic_exchange(&slot->thread.asked_for_event, false);
    if (event->tid && (asked || event->interval_ns != pp_timers_interval_ns()))
        draw_again(slot, event);
    else if (!event->tid &&
             (missed || asked || (atomic_load(&pp_capture.events_wanted) && slot->flush.clock_ns > WORTH_NS)))
        give_event(slot, event);
}

/* Whether the thread has used enough for an event. Its clock is known where it has lived for an interval. */
static bool is_worth_it(const struct pp_slot *slot)
{
    uint64_t clock_ns = slot->flush.clock_ns;
    return (clock_ns ? clock_ns : pp_sys_clock_ns(pp_thread_cpu_clock(atomic_load(&slot->tid)))) > WORTH_NS;
}

uint64_t pp_events_answer(uint64_t now_ns)
{
    end_if_told();
    bool grown = events.young_end_ns && now_ns >= events.young_end_ns;
    if (grown)
        events.young_end_ns = 0;
    if (!events.young_end_ns && atomic_exchange(&pp_capture.threads_begun, 0))
        events.young_end_ns = now_ns + YOUNG_NS;
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (atomic_load(&slot->state) == PP_SLOT_LIVE && atomic_load(&slot->timer) >= 0 &&
            (atomic_load(&slot->thread.asked_for_event) ||
             (grown && !atomic_load(&slot->thread.event_period_ns) && is_worth_it(slot))))
            pp_event_follow(slot, true);
    return events.young_end_ns ? events.young_end_ns : UINT64_MAX;
}

void pp_events_tell_end(const char *why)
{
    atomic_store(&events.ended_by, why);
    if (pp_fd_table_here())
        end_if_told();
}

bool pp_events_are_open(void)
{
    return atomic_load(&events.open);
}

bool pp_events_end(const char *why)
{
    static const struct timespec pause = {0, PAUSE_NS};
    uint64_t end = pp_sys_clock_ns(CLOCK_MONOTONIC) + END_NS;
    pp_events_tell_end(why);
    while (atomic_load(&events.open) && pp_sys_clock_ns(CLOCK_MONOTONIC) < end) {
        pp_wake_flush(PP_WAKE_EVENT);
        pp_syscall4(SYS_nanosleep, (long)&pause, 0, 0, 0);
    }
    return !atomic_load(&events.open);
}

void pp_event_thread_begins(void)
{
    if (atomic_load(&pp_capture.events_wanted) && !atomic_exchange(&pp_capture.threads_begun, 1))
        pp_wake_flush(PP_WAKE_EVENT);
}
