/* SPDX-License-Identifier: Apache-2.0 */
#include "account.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../handler/due.h"
#include "../threads/registry.h"
#include "../threads/scan.h"
#include <string.h>

/* A thread's exit costs some 6 µs that no thread clock shows, more when the machine is busy. More needs a proof. */
#define THREAD_EXIT_MAX_NS   20000u
#define PROFILER_EXIT_MAX_NS 500000u
/* Clocks that are read while the machine gives our CPU to the program's threads do not fit together: they are read
 * again when the process has used more than this meanwhile. */
#define TOGETHER_NS        50000u
#define TOGETHER_THREAD_NS 2000u /* and this for each thread, of which others may be on at the same time */
#define TOGETHER_TRIES     16u
#define TOGETHER_STRICT    4u /* tries until the best so far is good enough */
/* The clocks of many threads that do nothing cost more to read than they are worth: all are read each so many times, or
 * when more than this is missing. */
#define MANY_THREADS  256u
#define ALL_EACH      16u
#define UNREAD_MAX_NS 10000000u
#define IDLE_NS       100000u /* less than this since the last flush can wait for the next one */
#define LATE_TICKS    6u      /* a sample may come after its timer's expiry */
/* Where samples have been later than this on average, a tick being usual, the thread works in step with the ticks, */
#define IN_STEP_MEAN_TICKS   2u
#define LATE_SAMPLES         8u   /* over so many of them, */
#define LATE_MAX_TICKS       25u  /* each counted up to here. */
#define IN_STEP_LATE_PERCENT 150u /* of a tick: what runs all the time is not later than this */

/* Accounts for the profiler's cost and for losses since the last record, which carries sums. */
static struct pp_charge charge_cost(struct pp_account *account, struct pp_slot *slot, uint64_t profiler_ns,
                                    uint64_t lost_ns, uint32_t lost_samples)
{
    struct pp_charge charge = {0};
    PP_CHECK(profiler_ns >= slot->flush.seen_profiler_ns && lost_ns >= slot->flush.seen_lost_ns &&
             lost_samples >= slot->flush.seen_lost_samples);
    int64_t cost = (int64_t)(profiler_ns - slot->flush.seen_profiler_ns);
    charge.lost_ns = lost_ns - slot->flush.seen_lost_ns;
    charge.lost_samples = lost_samples - slot->flush.seen_lost_samples;
    slot->flush.seen_profiler_ns = profiler_ns;
    slot->flush.seen_lost_ns = lost_ns;
    slot->flush.seen_lost_samples = lost_samples;
    slot->flush.accounted_ns += (uint64_t)cost + charge.lost_ns;
    account->profiler_ns += cost;
    account->lost_ns += charge.lost_ns;
    account->lost_samples += charge.lost_samples;
    return charge;
}

/* Charges the profiler with what switches have cost for the thread's event since the last record: out of used_ns. */
static uint64_t charge_switches(struct pp_account *account, struct pp_slot *slot, uint64_t switches_ns,
                                uint64_t used_ns)
{
    uint64_t cost_ns = switches_ns - slot->flush.seen_switches_ns;
    cost_ns = cost_ns < used_ns ? cost_ns : used_ns; /* the rest is taken with the next */
    slot->flush.seen_switches_ns += cost_ns;
    slot->flush.accounted_ns += cost_ns;
    account->profiler_ns += (int64_t)cost_ns;
    return cost_ns;
}

uint64_t pp_account_overdue_ns(const struct pp_ticks *ticks)
{
    return ticks->period_ns + ticks->tick_ns * IN_STEP_LATE_PERCENT / 100;
}

uint64_t pp_account_bound_ns(const struct pp_ticks *ticks)
{
    return ticks->period_ns + ticks->tick_ns * LATE_TICKS;
}

/* Estimates what others have kept from the ticks: used in turns on a CPU that ended by a push, less than a tick in
 * each. Turns that ended in a sleep are the thread's own doing. The sample has its share of the switches. */
static uint64_t hidden_ns(const struct pp_record_sample *record, uint64_t used_ns, uint64_t tick_ns)
{
    double pushes = record->involuntary, switches = pushes + record->voluntary, counted = (double)record->counted_ns;
    if (pushes == 0 || counted == 0)
        return 0;
    double used = counted * pushes / switches, most = pushes * (double)tick_ns;
    double share = counted > (double)used_ns ? (double)used_ns / counted : 1;
    return (uint64_t)(share * (used < most ? used : most));
}

bool pp_account_in_step(const struct pp_slot *slot, uint64_t tick_ns)
{
    return slot->flush.mean_late_ns > tick_ns * IN_STEP_MEAN_TICKS;
}

/* Whether the sample comes no later than that of a thread that does not work in step with the ticks. */
static bool is_in_time(struct pp_slot *slot, const struct pp_record_sample *record, uint64_t used_ns,
                       const struct pp_ticks *ticks)
{
    uint64_t allowed_ns = ticks->period_ns + hidden_ns(record, used_ns, ticks->tick_ns), tick_ns = ticks->tick_ns;
    uint64_t late_ns = used_ns > allowed_ns ? used_ns - allowed_ns : 0, most_ns = LATE_MAX_TICKS * tick_ns;
    uint64_t counted_ns = late_ns < most_ns ? late_ns : most_ns, mean_ns = slot->flush.mean_late_ns;
    mean_ns = (mean_ns * (LATE_SAMPLES - 1) + counted_ns) / LATE_SAMPLES;
    slot->flush.mean_late_ns = mean_ns;
    if (pp_account_in_step(slot, tick_ns))
        return late_ns <= tick_ns * IN_STEP_LATE_PERCENT / 100;
    return late_ns <= tick_ns * LATE_TICKS;
}

/* Takes a sample of a thread with two clocks, each of which sees a part of its CPU time only: what a sample does not
 * represent is left to the samples of the other clock, up to a bound (handler/due.h). */
static void share_clock(struct pp_account *account, struct pp_slot *slot, const struct pp_record_sample *record,
                        const struct pp_ticks *ticks, struct pp_charge *charge)
{
    uint64_t waiting_ns = record->cpu_ns > slot->flush.accounted_ns ? record->cpu_ns - slot->flush.accounted_ns : 0;
    waiting_ns -= charge_switches(account, slot, record->switches_ns, waiting_ns);
    charge->sampled_ns = waiting_ns < record->due_ns ? waiting_ns : record->due_ns;
    uint64_t left_ns = waiting_ns - charge->sampled_ns, kept_ns = PP_KEPT_TIMES * pp_account_overdue_ns(ticks);
    charge->unsampled_ns = left_ns > kept_ns ? left_ns - kept_ns : 0;
}

static void share_ticks(struct pp_account *account, struct pp_slot *slot, const struct pp_record_sample *record,
                        const struct pp_ticks *ticks, struct pp_charge *charge)
{
    uint64_t used_ns = record->cpu_ns - record->cpu_previous_ns;
    bool whole = is_in_time(slot, record, used_ns, ticks);
    used_ns -= charge_switches(account, slot, record->switches_ns, used_ns);
    uint64_t part_ns = ticks->period_ns / 2 + ticks->tick_ns;
    charge->sampled_ns = whole || part_ns > used_ns ? used_ns : part_ns;
    if (record->by_ticks && pp_waits_often(record, ticks->tick_ns))
        account->uneven_ns += charge->sampled_ns;
    charge->unsampled_ns = used_ns - charge->sampled_ns;
}

struct pp_charge pp_account_sample(struct pp_account *account, struct pp_slot *slot,
                                   const struct pp_record_sample *record, const struct pp_ticks *ticks)
{
    struct pp_charge charge = charge_cost(account, slot, record->profiler_ns, record->lost_ns, record->lost_samples);
    if (record->due_ns)
        share_clock(account, slot, record, ticks, &charge);
    else
        share_ticks(account, slot, record, ticks, &charge);
    slot->flush.accounted_ns += charge.sampled_ns + charge.unsampled_ns;
    PP_CHECK(slot->flush.accounted_ns <= record->cpu_ns); /* nothing that the thread has not used is handed out */
    account->sampled_ns += charge.sampled_ns;
    account->unsampled_ns += charge.unsampled_ns;
    account->samples++;
    return charge;
}

static struct pp_charge charge_rest(struct pp_account *account, struct pp_slot *slot, uint64_t clock_ns)
{
    struct pp_charge charge = charge_cost(account, slot, atomic_load(&slot->thread.profiler_ns),
                                          atomic_load(&slot->thread.lost_ns), atomic_load(&slot->thread.lost_samples));
    if (clock_ns > slot->flush.accounted_ns)
        charge.unsampled_ns = clock_ns - slot->flush.accounted_ns;
    slot->flush.accounted_ns += charge.unsampled_ns;
    account->unsampled_ns += charge.unsampled_ns;
    return charge;
}

/* Returns the CPU clock of an ENDED slot's thread, as far as known. */
static uint64_t last_clock(const struct pp_slot *slot)
{
    uint64_t final_ns = atomic_load(&slot->thread.final_cpu_ns);
    return final_ns > slot->flush.clock_ns ? final_ns : slot->flush.clock_ns;
}

struct pp_charge pp_account_end(struct pp_account *account, struct pp_slot *slot)
{
    uint64_t clock = last_clock(slot);
    account->exited_threads++;
    account->exited_cpu_ns += clock - slot->flush.before_ns;
    return charge_rest(account, slot, clock);
}

struct pp_charge pp_account_rest(struct pp_account *account, struct pp_slot *slot)
{
    uint64_t clock = pp_sys_clock_ns(pp_thread_cpu_clock(atomic_load(&slot->tid)));
    return charge_rest(account, slot, clock);
}

/* Returns the part of ns that is from 0 to `max`. */
static int64_t clamp(int64_t ns, int64_t max)
{
    int64_t at_most_max = ns < max ? ns : max;
    return at_most_max < 0 ? 0 : at_most_max;
}

/* Charges the profiler with what the ends of its threads cost, out of the residue. */
static int64_t charge_profiler_exits(struct pp_account *account, int64_t residue)
{
    int64_t cost = clamp(residue, (int64_t)(account->profiler_exits * PROFILER_EXIT_MAX_NS));
    account->profiler_exits = 0;
    account->profiler_ns += cost;
    account->profiler_exit_ns += cost;
    return cost;
}

/* Returns the CPU clock of a slot's thread, or what is known of it. all: read it also of a thread without a sample
 * since. */
static uint64_t clock_of(struct pp_slot *slot, uint64_t now_ns, bool all)
{
    bool live = atomic_load(&slot->state) == PP_SLOT_LIVE;
    if (!all && live && slot->flush.clock_ns >= atomic_load(&slot->thread.cpu_end_ns))
        return slot->flush.clock_ns;
    bool there = live || slot->flush.ended == PP_ENDED_LINGERS;
    uint64_t clock_ns = there ? pp_sys_clock_ns(pp_thread_cpu_clock(atomic_load(&slot->tid))) : 0;
    if (clock_ns) {
        slot->flush.clock_at_ns = now_ns;
        return clock_ns;
    }
    if (live)
        pp_thread_vanished(slot);
    return last_clock(slot);
}

/* Returns what the threads of the slots have used, threads that have ENDED and are not yet accounted for included. */
static uint64_t read_clocks(struct pp_account *account, bool all)
{
    uint64_t sum_ns = 0, now_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    account->threads = 0;
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        uint32_t state = atomic_load(&slot->state);
        if ((state != PP_SLOT_LIVE && state != PP_SLOT_ENDED) || !atomic_load(&slot->tid))
            continue;
        uint64_t clock_ns = clock_of(slot, now_ns, all);
        if (clock_ns < slot->flush.accounted_ns)
            clock_ns = slot->flush.accounted_ns;
        slot->flush.clock_ns = clock_ns;
        account->pending_ns += clock_ns - slot->flush.accounted_ns;
        sum_ns += clock_ns - slot->flush.before_ns;
        account->threads++;
    }
    return sum_ns;
}

static bool awaits_last_part(const struct pp_slot *slot)
{
    return atomic_load(&slot->state) == PP_SLOT_ENDED && slot->flush.ended == PP_ENDED_VANISHED;
}

/* Gives vanished threads their last part: what they used since their clock was last read is in the process's clock
 * only. It cannot be more than the time that has passed. Returns how much of missing_ns they have been given. */
static uint64_t give_last_parts(uint64_t missing_ns)
{
    uint64_t now = pp_sys_clock_ns(CLOCK_MONOTONIC), given_ns = 0, most_ns = 0;
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        most_ns += awaits_last_part(slot) ? now - slot->flush.clock_at_ns : 0;
    missing_ns = missing_ns < most_ns ? missing_ns : most_ns;
    for (struct pp_slot *slot = pp_slot_at(0); most_ns && slot; slot = pp_slot_at(slot->index + 1)) {
        if (!awaits_last_part(slot))
            continue;
        double share = (double)(now - slot->flush.clock_at_ns) / (double)most_ns;
        uint64_t part_ns = (uint64_t)(share * (double)missing_ns);
        atomic_store(&slot->thread.final_cpu_ns, last_clock(slot) + part_ns);
        slot->flush.ended = PP_ENDED_WHOLE;
        given_ns += part_ns;
    }
    return given_ns;
}

/* Sets what the process has used; returns what its threads have. uncertain_ns: so much of cpu_ns may be from after a
 * thread's clock was read. */
static uint64_t read_all_clocks(struct pp_account *account, uint64_t *profiler_threads_ns, uint64_t waiting_ns,
                                int64_t *uncertain_ns)
{
    uint64_t earlier_ns = *profiler_threads_ns, best_ns = UINT64_MAX;
    unsigned as_good = 0;
    for (unsigned tries = 1;; tries++) {
        account->pending_ns = waiting_ns;
        uint64_t before = pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        *profiler_threads_ns = earlier_ns + pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        uint64_t threads_ns = *profiler_threads_ns + account->exited_cpu_ns + read_clocks(account, true);
        /* the threads went on while we read their clocks: half of it is the best guess */
        uint64_t passed = pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
        *uncertain_ns = (int64_t)(passed / 2);
        account->cpu_ns = before + passed / 2 - pp_process.start.process_cpu_ns;
        /* No better than two times before: many threads on many processors use as much while they are read. Once is not
         * enough: two turns of other programs on our CPU are equally long. */
        as_good += passed <= best_ns && passed > best_ns / 2;
        if (passed <= TOGETHER_NS + account->threads * TOGETHER_THREAD_NS || tries == TOGETHER_TRIES || as_good == 2 ||
            (tries > TOGETHER_STRICT && passed <= best_ns))
            return threads_ns;
        best_ns = passed < best_ns ? passed : best_ns;
    }
}

bool pp_account_has_many_threads(const struct pp_account *account)
{
    return account->threads >= MANY_THREADS;
}

/* Whether the clocks of the threads that had a sample are enough: what the others have used since theirs were read is
 * little. It is pending, whichever thread's it is. */
static bool is_closed_by_few(struct pp_account *account, uint64_t *profiler_threads_ns, uint64_t waiting_ns)
{
    if (!pp_account_has_many_threads(account) || account->profiler_exits ||
        account->exited_threads != account->closed_exits || ++account->rounds % ALL_EACH == 0)
        return false;
    account->pending_ns = waiting_ns;
    uint64_t profiler_ns = *profiler_threads_ns + pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t threads_ns = profiler_ns + account->exited_cpu_ns + read_clocks(account, false);
    account->cpu_ns = pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - pp_process.start.process_cpu_ns;
    int64_t missing = (int64_t)(account->cpu_ns - threads_ns) - account->profiler_exit_ns -
                      (int64_t)account->booked_exit_ns - account->difference_ns;
    if (missing > (int64_t)UNREAD_MAX_NS)
        return false;
    *profiler_threads_ns = profiler_ns;
    if (missing > 0)
        account->pending_ns += (uint64_t)missing;
    else
        account->difference_ns += missing;
    return true;
}

/* Books what the ends of threads have cost after their clocks were read last. */
static void book_exits(struct pp_account *account, int64_t most_ns)
{
    int64_t cost = clamp(account->difference_ns, most_ns);
    account->thread_exit_ns += (uint64_t)cost;
    account->booked_exit_ns += (uint64_t)cost;
    account->difference_ns -= cost;
}

/* Returns what threads without a slot have used. The list of threads is read only where some have begun or ended past
 * libc. */
static int64_t read_unregistered(void)
{
    bool awaits = false;
    for (struct pp_slot *slot = pp_slot_at(0); slot && !awaits; slot = pp_slot_at(slot->index + 1))
        awaits = awaits_last_part(slot);
    return awaits || pp_threads_may_be_unregistered() ? (int64_t)pp_threads_unregistered_ns() : 0;
}

static uint64_t close_by_all(struct pp_account *account, uint64_t *profiler_threads_ns, uint64_t waiting_ns)
{
    int64_t before_ns = account->difference_ns - account->unregistered_ns, uncertain_ns;
    uint64_t exit_before = account->booked_exit_ns;
    bool ends = account->exited_threads != account->proven_exits;
    bool known = ends && pp_threads_are_known(); /* first: a thread that begins now is not one that has ended */
    account->closed_exits = account->exited_threads;
    uint64_t threads_ns = read_all_clocks(account, profiler_threads_ns, waiting_ns, &uncertain_ns);
    account->unregistered_ns = read_unregistered();
    int64_t residue = (int64_t)(account->cpu_ns - threads_ns) - account->profiler_exit_ns - (int64_t)exit_before -
                      account->unregistered_ns;
    account->difference_ns = residue - charge_profiler_exits(account, residue);
    book_exits(account, (int64_t)(account->exited_threads * THREAD_EXIT_MAX_NS) - (int64_t)exit_before);
    int64_t missing_ns = account->difference_ns - (before_ns > 0 ? before_ns : 0);
    uint64_t given_ns = give_last_parts(missing_ns > 0 ? (uint64_t)missing_ns : 0);
    account->pending_ns += given_ns;
    account->difference_ns -= (int64_t)given_ns;
    /* What the process's clock had before the clocks of all live threads were read can only be of threads that are
     * gone, however long their ends have taken. */
    if (known) {
        book_exits(account, account->difference_ns - uncertain_ns);
        account->proven_exits = account->closed_exits;
    }
    account->difference_ns += account->unregistered_ns;
    return account->booked_exit_ns - exit_before;
}

/* Whether every nanosecond of the process's clock has one place. */
static bool is_closed(const struct pp_account *account, uint64_t profiler_threads_ns)
{
    uint64_t sum_ns = account->sampled_ns + account->unsampled_ns + account->pending_ns + account->lost_ns +
                      (uint64_t)account->profiler_ns + profiler_threads_ns + account->thread_exit_ns +
                      (uint64_t)account->difference_ns;
    return sum_ns == account->cpu_ns;
}

uint64_t pp_account_close(struct pp_account *account, uint64_t *profiler_threads_ns, uint64_t waiting_ns)
{
    bool few = is_closed_by_few(account, profiler_threads_ns, waiting_ns);
    uint64_t exit_ns = few ? 0 : close_by_all(account, profiler_threads_ns, waiting_ns);
    PP_CHECK(is_closed(account, *profiler_threads_ns));
    uint64_t others_ns = account->cpu_ns - *profiler_threads_ns;
    account->busy = (int64_t)(others_ns - account->others_ns) >= (int64_t)IDLE_NS; /* two clocks: it may fall */
    account->others_ns = others_ns;
    return exit_ns;
}

bool pp_account_is_idle(const struct pp_account *account, uint64_t profiler_threads_ns)
{
    if (!pp_account_has_many_threads(account) || account->busy)
        return false;
    profiler_threads_ns += pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t cpu_ns = pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - pp_process.start.process_cpu_ns;
    return (int64_t)(cpu_ns - profiler_threads_ns - account->others_ns) < (int64_t)IDLE_NS;
}

struct pp_handlers pp_account_handlers(void)
{
    struct pp_handlers sum = {0};
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        uint64_t slot_ns = atomic_load(&slot->cost.sum_ns);
        atomic_store(&slot->cost.reviewed_ns, slot_ns);
        sum.ns += slot_ns;
        sum.count += atomic_load(&slot->cost.count);
    }
    return sum;
}
