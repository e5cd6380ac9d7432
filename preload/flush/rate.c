/* SPDX-License-Identifier: Apache-2.0 */
#include "rate.h"
#include "../base/config.h"
#include "../base/message.h"
#include "../capture/capture.h"
#include "../log/notes.h"
#include "../threads/perf_clock.h"
#include "../threads/registry.h"
#include "../threads/timers.h"
#include "drain.h"
#include "throttle.h"
#include <string.h>

#define NS_PER_SECOND   1000000000u
#define PPM_PER_PERCENT 10000u
#define LINE_BYTES      160

static struct {
    struct pp_throttle throttle;
    uint64_t applied_ns; /* the period at which the timers run */
    uint64_t weighed_ns; /* the period that samples are weighed by: those in the rings may be of a longer one */
    uint64_t seen_cpu_ns;
    struct pp_handlers seen;
} rate;

/* Puts into the log what becomes of a rate above the kernel's ticks. */
static void note_ticks(void)
{
    uint64_t tick_ns = pp_sys_tick_ns();
    if (pp_timers_wanted_ns() >= tick_ns || atomic_load(&pp_capture.events_wanted))
        return;
    char line[LINE_BYTES];
    pp_note(0, pp_format(line, sizeof line,
                         "at most %lu samples per CPU second here, for that is how often the kernel ticks: each "
                         "weighs what was used since the one before",
                         NS_PER_SECOND / tick_ns));
}

static void weigh_by(uint64_t period_ns)
{
    rate.weighed_ns = period_ns;
    pp_drain_set_period(pp_timer_longest_ns(period_ns));
}

void pp_rate_start(bool first)
{
    if (first) {
        memset(&rate, 0, sizeof rate);
        pp_throttle_reset(&rate.throttle, pp_timers_wanted_ns(), pp_config.max_overhead_ppm);
        note_ticks();
    }
    rate.applied_ns = rate.throttle.period_ns;
    weigh_by(rate.applied_ns);
    pp_rate_wake_by_samples(false);
}

void pp_rate_wake_by_samples(bool each)
{
    atomic_store(&pp_capture.review_ns, each ? 1 : PP_THROTTLE_SOON_NS / 1000000 * rate.throttle.limit_ppm);
}

static void note_change(uint64_t before_ns)
{
    char line[LINE_BYTES];
    uint64_t before = NS_PER_SECOND / before_ns, now = NS_PER_SECOND / rate.throttle.period_ns;
    unsigned hundredths = rate.throttle.share_ppm * 100 / PPM_PER_PERCENT;
    if (before != now)
        pp_note(now < before,
                pp_format(line, sizeof line,
                          "samples cost %u.%02u %s of the CPU time: %lu of %lu samples per CPU "
                          "second are taken (PYPROF_MAX_OVERHEAD)",
                          hundredths / 100, hundredths % 100, "%", now, NS_PER_SECOND / pp_timers_wanted_ns()));
}

bool pp_rate_review(uint64_t cpu_ns, struct pp_handlers handlers)
{
    uint64_t used_ns = cpu_ns > rate.seen_cpu_ns ? cpu_ns - rate.seen_cpu_ns : 0;
    pp_throttle_add(&rate.throttle, used_ns, handlers.count - rate.seen.count, handlers.ns - rate.seen.ns);
    rate.seen_cpu_ns = cpu_ns;
    rate.seen = handlers;
    return rate.throttle.period_ns != rate.weighed_ns;
}

/* Returns whether the timers' period is another than before. */
static bool apply(void)
{
    uint64_t before_ns = rate.applied_ns, now_ns = rate.throttle.period_ns;
    rate.applied_ns = now_ns;
    weigh_by(now_ns > before_ns ? now_ns : before_ns);
    if (now_ns == before_ns)
        return false;
    pp_timers_set_period_ns(now_ns);
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        pp_timer_follow(slot, false);
    return true;
}

void pp_rate_change(void)
{
    uint64_t before_ns = rate.applied_ns;
    if (apply())
        note_change(before_ns);
}

void pp_rate_want(uint64_t period_ns)
{
    pp_timers_want_ns(period_ns);
    pp_throttle_reset(&rate.throttle, pp_timers_wanted_ns(), pp_config.max_overhead_ppm);
    /* whether all threads are to have an event depends on the rate */
    pp_events_forget();
    pp_events_begin();
    apply();
    note_ticks();
}
