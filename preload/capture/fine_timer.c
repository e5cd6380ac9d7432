/* SPDX-License-Identifier: Apache-2.0 */
#include "fine_timer.h"
#include "capture.h"
#include <errno.h>

#define NS_PER_SECOND 1000000000u
#define NOW_NS        1u
#define SOON_NS       30000   /* of CPU time: a CPU timer that is due already would signal at once, and not at a tick */
#define LATE_MOST_NS  100000u /* from an expiry to its handler: more is other threads' doing */
#define ARMING_NS     20000   /* in which the kernel, or what runs this machine, arms a timer */
#define EARLY_NS      20000   /* a sample that is due within this is taken: to arm the timer again costs as much */
#define MOVED_SHARE   8       /* a thread that has used this part of what its timer ran for was not waiting */
#define STALLS_MOST   3u /* expiries in a row that have met the thread in a system call and not moved: it waits there */
#define DRAWS_MOST    16u
#define LONGEST_DECAY 64u /* rounds after which the longest is forgotten */
#define AHEAD_ROUNDS  2   /* the timer is armed if a sample is due within so many of the longest rounds */
#define CHECK_ROUNDS  64u /* after which their cost is checked, without a sample */
#define CHECK_DECAY   8u  /* checks over which the cost of waits is averaged */
#define BUDGET_SHARE  2u  /* of PYPROF_MAX_OVERHEAD, for waits */
#define AGAIN_PERCENT 75u /* of that: below it, waits that were not watched are watched again */
#define ARMED_SHARE   4u  /* of rounds that were not watched: in so many of them the timer would have been armed */
#define PPM           1000000u

bool pp_fine_is_on(const struct pp_slot *slot)
{
    return atomic_load_explicit(&slot->fine_timer, memory_order_relaxed) >= 0 && !slot->thread.fine.off &&
           !atomic_load_explicit(&slot->thread.event_period_ns, memory_order_relaxed);
}

bool pp_fine_is_in_use(const struct pp_slot *slot)
{
    return pp_fine_is_on(slot) && !slot->thread.fine.unwatched;
}

static uint64_t tick_ns(void)
{
    return atomic_load_explicit(&pp_capture.tick_ns, memory_order_relaxed);
}

static uint64_t period_ns(void)
{
    return atomic_load_explicit(&pp_capture.traces_pause, memory_order_relaxed)
               ? PP_TIMER_SLOW_NS
               : atomic_load_explicit(&pp_capture.period_ns, memory_order_relaxed);
}

static uint64_t draw(struct pp_fine *fine, uint64_t below)
{
    uint64_t x = fine->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    fine->random = x;
    return below ? (x >> 11) % below : 0;
}

static bool set_timer(int id, int flags, uint64_t first_ns, uint64_t interval_ns)
{
    struct itimerspec times = {
        .it_interval = {(time_t)(interval_ns / NS_PER_SECOND), (long)(interval_ns % NS_PER_SECOND)},
        .it_value = {(time_t)(first_ns / NS_PER_SECOND), (long)(first_ns % NS_PER_SECOND)},
    };
    return pp_syscall4(SYS_timer_settime, id, flags, (long)&times, 0) == 0;
}

/* Has the CPU timer signal at the first tick after so much more CPU time of the thread. */
static void set_tick(struct pp_slot *slot, int64_t after_ns)
{
    struct pp_fine *fine = &slot->thread.fine;
    int id = atomic_load_explicit(&slot->timer, memory_order_relaxed);
    fine->awaits_tick = true;
    if (id >= 0)
        set_timer(id, TIMER_ABSTIME, fine->at_ns + (uint64_t)(after_ns > SOON_NS ? after_ns : SOON_NS), period_ns());
}

static void arm(struct pp_slot *slot, int64_t first_ns)
{
    struct pp_fine *fine = &slot->thread.fine;
    fine->armed_ns = first_ns > 0 ? (uint64_t)first_ns : NOW_NS;
    fine->expires_ns = fine->at_ns + fine->armed_ns;
    fine->armed = true; /* first: it may expire at once */
    atomic_signal_fence(memory_order_seq_cst);
    if (!set_timer(atomic_load_explicit(&slot->fine_timer, memory_order_relaxed), 0, fine->armed_ns, 0))
        fine->off = true; /* the program has deleted it: ticks are left */
}

/* Takes what the thread has used up to this reading of its CPU clock. */
static void advance(struct pp_fine *fine, uint64_t cpu_ns)
{
    fine->rest_ns -= (int64_t)(cpu_ns - fine->at_ns);
    fine->at_ns = cpu_ns;
}

/* Whether a sample may become due in the round: at ticks, rounds that are longer than all before are met. */
static bool is_near(const struct pp_fine *fine)
{
    uint64_t ahead_ns = AHEAD_ROUNDS * fine->longest_ns, most_ns = tick_ns();
    return fine->rest_ns <= (int64_t)(ahead_ns < most_ns ? ahead_ns : most_ns);
}

/* Draws the rest of an interval that a random moment is in: long ones hold more moments. */
static int64_t first_rest(struct pp_fine *fine)
{
    uint64_t longest_ns = period_ns() + period_ns() / 2, interval_ns;
    unsigned tries = 0;
    do
        interval_ns = period_ns() / 2 + draw(fine, period_ns());
    while (draw(fine, longest_ns) > interval_ns && ++tries < DRAWS_MOST);
    return (int64_t)(1 + draw(fine, interval_ns));
}

void pp_fine_begin(struct pp_slot *slot)
{
    struct pp_fine *fine = &slot->thread.fine;
    if (!pp_fine_is_on(slot))
        return;
    fine->random = pp_sys_random() | 1;
    fine->at_ns = fine->checked.cpu_ns = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    fine->rest_ns = first_rest(fine);
    fine->longest_ns = tick_ns(); /* not known yet */
    fine->awaits_tick = true;     /* the CPU timer has been set to the first */
    atomic_signal_fence(memory_order_seq_cst);
    if (is_near(fine))
        arm(slot, fine->rest_ns);
    else
        set_tick(slot, fine->rest_ns - (int64_t)tick_ns());
}

static void add_cost(struct pp_fine *fine, uint64_t ns)
{
    atomic_store_explicit(&fine->own_ns, atomic_load_explicit(&fine->own_ns, memory_order_relaxed) + ns,
                          memory_order_relaxed);
}

/* Decides whether waits are watched: not if that costs more than its part of the bound. At each sample, and after so
 * many rounds without. */
static void check_cost(struct pp_fine *fine, uint64_t cpu_ns)
{
    uint64_t limit_ppm = atomic_load_explicit(&pp_capture.overhead_ppm, memory_order_relaxed) / BUDGET_SHARE;
    uint64_t round_ns = atomic_load_explicit(&pp_capture.fine_costs.round_ns, memory_order_relaxed),
             arm_ns = atomic_load_explicit(&pp_capture.fine_costs.arm_ns, memory_order_relaxed);
    uint64_t own_ns = atomic_load_explicit(&fine->own_ns, memory_order_relaxed),
             cost_ns = own_ns - fine->checked.own_ns;
    if (fine->unwatched)
        cost_ns = fine->rounds * (round_ns + arm_ns / ARMED_SHARE);
    fine->checked.cost_sum_ns += (int64_t)cost_ns - fine->checked.cost_sum_ns / CHECK_DECAY;
    fine->checked.used_sum_ns += (int64_t)(cpu_ns - fine->checked.cpu_ns) - fine->checked.used_sum_ns / CHECK_DECAY;
    fine->checked.cpu_ns = cpu_ns;
    fine->checked.own_ns = own_ns;
    fine->rounds = 0;
    bool was_unwatched = fine->unwatched;
    if (was_unwatched)
        limit_ppm = limit_ppm * AGAIN_PERCENT / 100;
    fine->unwatched = fine->checked.cost_sum_ns * PPM > fine->checked.used_sum_ns * (int64_t)limit_ppm;
    if (was_unwatched && !fine->unwatched) {
        /* what has become due meanwhile, a tick was to meet: the next wait has no more to do with it than others */
        fine->at_ns = cpu_ns;
        fine->rest_ns = first_rest(fine);
    }
}

void pp_fine_wait_begins(struct pp_slot *slot)
{
    struct pp_fine *fine = &slot->thread.fine;
    fine->waits++; /* first: from here on the handler does not arm the timer */
    atomic_signal_fence(memory_order_seq_cst);
    if (!fine->armed)
        return;
    set_timer(atomic_load_explicit(&slot->fine_timer, memory_order_relaxed), 0, 0, 0);
    fine->armed = false;
    add_cost(fine, atomic_load_explicit(&pp_capture.fine_costs.arm_ns, memory_order_relaxed));
}

void pp_fine_wait_ends(struct pp_slot *slot)
{
    struct pp_fine *fine = &slot->thread.fine;
    fine->waits--;
    atomic_signal_fence(memory_order_seq_cst);
    if (fine->waits || !pp_fine_is_on(slot))
        return; /* a handler of the program has waited in a wait; or ticks or events have taken over */
    bool checks = ++fine->rounds % CHECK_ROUNDS == 0;
    if (fine->unwatched && !checks)
        return;
    uint64_t cpu_ns = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID), round_ns = cpu_ns - fine->at_ns;
    if (checks)
        check_cost(fine, cpu_ns);
    if (fine->unwatched) {
        advance(fine, cpu_ns);
        if (!fine->awaits_tick)
            set_tick(slot, fine->rest_ns);
        return;
    }
    add_cost(fine, atomic_load_explicit(&pp_capture.fine_costs.round_ns, memory_order_relaxed));
    fine->longest_ns -= fine->longest_ns / LONGEST_DECAY;
    fine->longest_ns = fine->longest_ns > round_ns ? fine->longest_ns : round_ns;
    advance(fine, cpu_ns);
    /* what has become due in the wait itself is sampled at its end */
    fine->arming = true;
    if (is_near(fine))
        arm(slot, fine->rest_ns);
    fine->arming = false;
    if (!fine->armed && fine->rest_ns <= (int64_t)tick_ns() && !fine->awaits_tick)
        set_tick(slot, 0); /* should the round become longer than those before */
}

bool pp_fine_expires(struct pp_slot *slot, const ucontext_t *context, uint64_t *cpu_ns)
{
    struct pp_fine *fine = &slot->thread.fine;
    if (!fine->armed)
        return false; /* it was disarmed meanwhile */
    fine->armed = false;
    bool moved = *cpu_ns - fine->at_ns >= fine->armed_ns / MOVED_SHARE, was_due = fine->rest_ns <= 0;
    advance(fine, *cpu_ns);
    if (fine->arming && !was_due && fine->armed_ns < ARMING_NS) {
        /* It has expired while it was armed: what is due is not the wait, but what the thread will do next. */
        arm(slot, ARMING_NS);
        return false;
    }
    if (fine->rest_ns <= EARLY_NS) {
        /* Since the expiry the CPU has not been the program's: 20 us in a virtual machine. */
        if (*cpu_ns > fine->expires_ns && *cpu_ns - fine->expires_ns < LATE_MOST_NS)
            *cpu_ns = fine->expires_ns;
        return true;
    }
    /* Others have had the thread's CPU, or it waits past libc. */
    bool in_call = pp_context_in_call(context);
    fine->stalls = in_call && !moved ? fine->stalls + 1 : 0;
    if (in_call && pp_context_result(context) == -EINTR)
        fine->off = true;
    else if (fine->stalls > STALLS_MOST)
        set_tick(slot, 0);
    else if (!fine->waits)
        arm(slot, fine->rest_ns);
    return false;
}

bool pp_fine_tick(struct pp_slot *slot, uint64_t cpu_ns)
{
    struct pp_fine *fine = &slot->thread.fine;
    fine->awaits_tick = false;
    advance(fine, cpu_ns);
    if (fine->armed && fine->rest_ns > -(int64_t)tick_ns())
        return false; /* it is about to expire, unless another has taken its place */
    if (fine->rest_ns <= 0)
        return true; /* in a round that is not watched, or after waits that were not seen */
    if (fine->rest_ns > (int64_t)(period_ns() + period_ns() / 2))
        fine->rest_ns = first_rest(fine); /* the period has become shorter */
    if (fine->unwatched || fine->waits)
        set_tick(slot, fine->rest_ns);
    else if (fine->rest_ns <= (int64_t)tick_ns())
        arm(slot, fine->rest_ns);
    else
        set_tick(slot, fine->rest_ns - (int64_t)tick_ns());
    return false;
}

void pp_fine_sampled(struct pp_slot *slot, uint64_t cpu_ns)
{
    struct pp_fine *fine = &slot->thread.fine;
    check_cost(fine, cpu_ns);
    fine->at_ns = cpu_ns;
    fine->rest_ns = (int64_t)(period_ns() / 2 + draw(fine, period_ns()));
    if (fine->rest_ns > (int64_t)tick_ns())
        set_tick(slot, fine->rest_ns - (fine->unwatched ? 0 : (int64_t)tick_ns()));
    else if (!fine->waits)
        arm(slot, fine->rest_ns);
}
