/* SPDX-License-Identifier: Apache-2.0 */
#include "fine_timer.h"
#include "capture.h"
#include <errno.h>

#define NS_PER_SECOND 1000000000u
#define NOW_NS        1u
#define EARLY_NS      20000 /* a sample that is due within this is taken: to arm the timer again costs as much */
#define STALLS_MOST   3 /* expiries in a row that have met the thread in a system call and not moved: it waits there */
#define MOVED_SHARE   8 /* a thread that has used this part of what its timer ran for was not waiting */
#define DRAWS_MOST    16u
#define BUDGET_SHARE  4u /* of PYPROF_MAX_OVERHEAD, for waits */
#define PPM           1000000u
#define BUDGET_DECAY  8u  /* samples over which the cost of waits is averaged */
#define BUDGET_ROUNDS 64u /* without a sample, after which their cost is checked */
#define LEFT_OUT_MOST 1000u
#define LATE_PERIODS  4u /* without a sample, after which a tick has the round watched */

bool pp_fine_is_on(const struct pp_slot *slot)
{
    return atomic_load_explicit(&slot->fine_timer, memory_order_relaxed) >= 0 && !slot->thread.fine.off &&
           !atomic_load_explicit(&slot->thread.event_period_ns, memory_order_relaxed);
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

/* Has the CPU timer signal at the first tick from this reading of the thread's CPU clock on. */
static void set_tick(struct pp_slot *slot, uint64_t cpu_ns)
{
    int id = atomic_load_explicit(&slot->timer, memory_order_relaxed);
    if (id >= 0)
        set_timer(id, TIMER_ABSTIME, cpu_ns, period_ns());
}

static void arm(struct pp_slot *slot)
{
    struct pp_fine *fine = &slot->thread.fine;
    uint64_t first_ns = fine->rest_ns > 0 ? (uint64_t)fine->rest_ns : NOW_NS;
    fine->armed_rest_ns = first_ns;
    fine->armed = true; /* first: it may expire at once */
    atomic_signal_fence(memory_order_seq_cst);
    if (!set_timer(atomic_load_explicit(&slot->fine_timer, memory_order_relaxed), 0, first_ns, 0))
        fine->off = true; /* the program has deleted it: ticks are left */
}

/* Takes what the thread has used up to this reading of its CPU clock. */
static void advance(struct pp_fine *fine, uint64_t cpu_ns)
{
    if (fine->watched)
        fine->rest_ns -= (int64_t)(cpu_ns - fine->at_ns);
    fine->at_ns = cpu_ns;
}

static bool is_near(const struct pp_fine *fine)
{
    return fine->rest_ns <= (int64_t)tick_ns();
}

static uint64_t drawn_rest(struct pp_fine *fine)
{
    return (period_ns() / 2 + draw(fine, period_ns())) / (1 + fine->left_out);
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
    fine->at_ns = fine->budget_ns = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    fine->rest_ns = first_rest(fine);
    fine->watched = true;
    atomic_signal_fence(memory_order_seq_cst);
    if (is_near(fine))
        arm(slot);
    else
        set_tick(slot, fine->at_ns + (uint64_t)fine->rest_ns - tick_ns());
}

static void add_cost(struct pp_fine *fine, uint64_t ns)
{
    atomic_store_explicit(&fine->own_ns, atomic_load_explicit(&fine->own_ns, memory_order_relaxed) + ns,
                          memory_order_relaxed);
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

/* Sets how many rounds are left out for each that is watched, so that what waits cost stays in its part of the bound:
 * at each sample, and after so many rounds without. */
static void keep_to_budget(struct pp_fine *fine, uint64_t cpu_ns)
{
    uint64_t limit_ppm = atomic_load_explicit(&pp_capture.overhead_ppm, memory_order_relaxed) / BUDGET_SHARE;
    uint64_t cost_ns = atomic_load_explicit(&pp_capture.fine_costs.round_ns, memory_order_relaxed) +
                       atomic_load_explicit(&pp_capture.fine_costs.arm_ns, memory_order_relaxed) / 2;
    fine->rounds_sum += (int64_t)fine->rounds - fine->rounds_sum / BUDGET_DECAY;
    fine->used_sum_ns += (int64_t)(cpu_ns - fine->budget_ns) - fine->used_sum_ns / BUDGET_DECAY;
    fine->rounds = 0;
    fine->budget_ns = cpu_ns;
    if (fine->used_sum_ns <= 0 || fine->rounds_sum <= 0 || !limit_ppm)
        return;
    uint64_t share_ppm = cost_ns * (uint64_t)fine->rounds_sum * PPM / (uint64_t)fine->used_sum_ns;
    uint64_t left_out = share_ppm > limit_ppm ? (share_ppm - 1) / limit_ppm : 0;
    left_out = left_out < LEFT_OUT_MOST ? left_out : LEFT_OUT_MOST;
    /* each round that is watched stands for as many more */
    fine->rest_ns = fine->rest_ns * (int64_t)(1 + fine->left_out) / (int64_t)(1 + left_out);
    fine->left_out = (uint32_t)left_out;
}

/* Chooses whether the round that begins is watched. Returns whether it is. */
static bool choose(struct pp_fine *fine)
{
    if (!fine->watched && --fine->skip)
        return false;
    bool was_watched = fine->watched;
    fine->skip = was_watched && fine->left_out ? (uint32_t)draw(fine, 2 * fine->left_out + 1) : 0;
    return !fine->skip;
}

void pp_fine_wait_ends(struct pp_slot *slot)
{
    struct pp_fine *fine = &slot->thread.fine;
    fine->waits--;
    atomic_signal_fence(memory_order_seq_cst);
    if (fine->waits)
        return; /* a handler of the program has waited in a wait */
    if (++fine->rounds % BUDGET_ROUNDS == 0)
        keep_to_budget(fine, pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID));
    if (!fine->watched && fine->skip > 1) {
        fine->skip--;
        return;
    }
    uint64_t cpu_ns = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    advance(fine, cpu_ns);
    add_cost(fine, atomic_load_explicit(&pp_capture.fine_costs.round_ns, memory_order_relaxed));
    fine->watched = choose(fine);
    /* what is due may have become so in the wait itself, and is sampled at its end */
    if (fine->rest_ns <= 0 || (fine->watched && is_near(fine)))
        arm(slot);
}

bool pp_fine_expires(struct pp_slot *slot, const ucontext_t *context, uint64_t cpu_ns)
{
    struct pp_fine *fine = &slot->thread.fine;
    if (!fine->armed)
        return false; /* it was disarmed meanwhile */
    fine->armed = false;
    bool moved = cpu_ns - fine->at_ns >= fine->armed_rest_ns / MOVED_SHARE;
    advance(fine, cpu_ns);
    if (fine->rest_ns <= EARLY_NS)
        return true;
    /* Others have had the thread's CPU, or it waits past libc. */
    bool in_call = pp_context_in_call(context);
    fine->stalls = in_call && !moved ? fine->stalls + 1 : 0;
    if (in_call && pp_context_result(context) == -EINTR)
        fine->off = true;
    else if (fine->stalls > STALLS_MOST)
        set_tick(slot, cpu_ns);
    else if (!fine->waits)
        arm(slot);
    return false;
}

bool pp_fine_tick(struct pp_slot *slot, uint64_t cpu_ns)
{
    struct pp_fine *fine = &slot->thread.fine;
    if (fine->waits || fine->armed)
        return false;
    uint64_t usual_ns = period_ns();
    uint64_t since_ns = cpu_ns - atomic_load_explicit(&slot->thread.cpu_end_ns, memory_order_relaxed);
    advance(fine, cpu_ns);
    if (!fine->watched && since_ns > LATE_PERIODS * usual_ns) {
        /* a long round that was left out */
        fine->watched = true;
        fine->skip = 0;
        fine->rest_ns = first_rest(fine);
    }
    if (fine->watched && fine->rest_ns <= 0)
        return true; /* after waits that were not seen */
    if (fine->watched && fine->rest_ns > (int64_t)(usual_ns + usual_ns / 2))
        fine->rest_ns = first_rest(fine); /* the period has become shorter */
    if (fine->watched && is_near(fine))
        arm(slot);
    else
        set_tick(slot, cpu_ns + (fine->watched ? (uint64_t)fine->rest_ns - tick_ns() : usual_ns));
    return false;
}

void pp_fine_sampled(struct pp_slot *slot, uint64_t cpu_ns)
{
    struct pp_fine *fine = &slot->thread.fine;
    keep_to_budget(fine, cpu_ns);
    fine->at_ns = cpu_ns;
    fine->rest_ns = (int64_t)drawn_rest(fine);
    if (!is_near(fine))
        set_tick(slot, cpu_ns + (uint64_t)fine->rest_ns - tick_ns());
    else if (fine->watched && !fine->waits)
        arm(slot);
}
