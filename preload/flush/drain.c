#include "drain.h"
#include "../base/proc_file.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../base/config.h"
#include "../modules/jit_code.h"
#include "../threads/registry.h"
#include "../threads/scan.h"
#include "code_objects.h"
#include "samples.h"
#include "short_threads.h"
#include "stacks.h"
#include <string.h>

#define NAME_REFRESH 10 /* flushes between two looks at a thread's name */

static struct pp_ticks ticks;
static bool process_ends;
static uint64_t samples_ns; /* burned for them */

static void add_charge(uint32_t thread, const struct pp_charge *charge)
{
    pp_add_pseudo(&pp_interval.account.unsampled_ns, thread, "[unsampled]", 0, charge->unsampled_ns);
    pp_add_pseudo(&pp_interval.account.lost_ns, thread, "[lost]", charge->lost_samples, charge->lost_ns);
}

/* The kernel's name of a thread (/proc/self/task/TID/comm), or the one that it had at its end. */
static void read_name(struct pp_slot *slot, bool ended, char name[16])
{
    memset(name, 0, 16);
    if (ended && slot->final_name[0]) {
        memcpy(name, slot->final_name, 15);
        return;
    }
    size_t n = pp_read_task_file(atomic_load(&slot->tid), "comm", name, 15);
    if (n > 0 && name[n - 1] == '\n')
        name[n - 1] = 0;
}

/* The log's id of the slot's thread, defined at need, again when its name has changed. */
static uint32_t thread_id(struct pp_slot *slot, bool ended)
{
    bool known = slot->flush.log_thread && slot->flush.log_segment == pp_interval.tables.segment;
    if (known && !ended && slot->flush.name_age++ < NAME_REFRESH)
        return slot->flush.log_thread;
    char name[16];
    read_name(slot, ended, name);
    slot->flush.name_age = 0;
    if (!known || (name[0] && strcmp(name, slot->flush.name) != 0)) {
        memcpy(slot->flush.name, name, sizeof name);
        slot->flush.log_thread = pp_thread_id(&pp_interval.tables, known ? slot->flush.log_thread : 0,
                                              atomic_load(&slot->tid), name, slot->start_unix_ns, slot->is_main);
        if (!known)
            slot->flush.node_count = 0;
        slot->flush.log_segment = pp_interval.tables.segment;
    }
    return slot->flush.log_thread;
}

static void take_sample(struct pp_slot *slot, uint32_t thread, const struct pp_record_sample *record)
{
    struct pp_charge charge = pp_account_sample(&pp_interval.account, slot, record, &ticks);
    uint32_t node = pp_stack_node(&pp_interval.tables, slot, record, pp_interval.account.reasons);
    struct pp_sample_key key = {thread, node, record->state};
    pp_add_sample(&pp_interval.account.sampled_ns, &key, 1, charge.sampled_ns);
    add_charge(thread, &charge);
    if (node)
        slot->flush.nodes[slot->flush.node_count++ % PP_LAST_STACKS] = node;
    if (charge.lost_samples)
        pp_interval.account.reasons[PP_REASON_LOST_RING_FULL] += charge.lost_samples;
}

static void credit_estimate(uint32_t thread, uint32_t node, uint64_t cpu_ns)
{
    pp_interval.account.sampled_ns += cpu_ns;
    pp_interval.account.estimated_ns += cpu_ns;
    struct pp_sample_key key = {thread, node, PP_STATE_ESTIMATED};
    if (!pp_add_sample(&pp_interval.account.sampled_ns, &key, 0, cpu_ns))
        pp_interval.account.estimated_ns -= cpu_ns;
}

static void give_up_estimate(uint32_t thread, uint64_t cpu_ns)
{
    pp_interval.account.unsampled_ns += cpu_ns;
    pp_add_pseudo(&pp_interval.account.unsampled_ns, thread, "[unsampled]", 0, cpu_ns);
}

/* What a thread burned after its last sample goes to its own last stacks, or to those of its like if it was short.
 * Returns whether it has found its place. */
static bool estimate_tail(const struct pp_slot *slot, uint32_t thread, uint64_t tail_ns)
{
    uint32_t stacks = slot->flush.node_count < PP_LAST_STACKS ? slot->flush.node_count : PP_LAST_STACKS;
    struct pp_ended_thread ended = {
        .kind = (uintptr_t)slot->start_routine,
        .cpu_ns = atomic_load(&slot->final_cpu_ns),
        .tail_ns = tail_ns,
        .thread = thread,
        .pushed_off = slot->pushed_off,
        .samples = stacks,
        .nodes = slot->flush.nodes,
    };
    if (ended.kind && pp_short_threads_end(&ended, pp_timers_period_ns(), ticks.tick_ns)) {
        pp_interval.account.unsampled_ns -= tail_ns;
        return true;
    }
    if (!stacks || (tail_ns > pp_account_bound_ns(&ticks) && !ended.pushed_off))
        return false;
    pp_interval.account.unsampled_ns -= tail_ns;
    credit_estimate(thread, slot->flush.nodes[tail_ns % stacks], tail_ns);
    return true;
}

static void take_end(struct pp_slot *slot)
{
    struct pp_charge charge = pp_account_end(&pp_interval.account, slot);
    pp_interval.anything_new = true;
    if (slot->out_of_reach)
        pp_thread_unreachable(slot);
    if (!charge.unsampled_ns && !charge.lost_ns)
        return;
    uint32_t thread = thread_id(slot, true);
    if (charge.unsampled_ns && estimate_tail(slot, thread, charge.unsampled_ns))
        charge.unsampled_ns = 0;
    add_charge(thread, &charge);
}

/* One that lingers may burn more; one that is gone since the last look gets its last part when the account is closed.
 */
static bool is_to_wait(struct pp_slot *slot)
{
    bool lingers = pp_thread_lingers(slot);
    slot->vanished |= slot->lingers && !lingers;
    slot->lingers = lingers;
    return lingers || slot->vanished;
}

static void empty_ring(struct pp_slot *slot, bool ended)
{
    uint64_t start_ns = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - pp_jit_code_refresh_ns();
    uint32_t thread = thread_id(slot, ended);
    const struct pp_record *record;
    while ((record = pp_ring_peek(&slot->ring))) {
        if (record->type == PP_RECORD_CODE)
            pp_codes_define(slot, (const struct pp_record_code *)record);
        else if (record->type == PP_RECORD_SAMPLE)
            take_sample(slot, thread, (const struct pp_record_sample *)record);
        pp_ring_release(&slot->ring, record);
    }
    samples_ns += pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - pp_jit_code_refresh_ns() - start_ns;
}

static void drain(struct pp_slot *slot)
{
    /* looked at before the ring: what has ended writes no more */
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
    if (state != PP_SLOT_LIVE && state != PP_SLOT_ENDED)
        return;
    bool ended = state == PP_SLOT_ENDED;
    if (pp_ring_peek(&slot->ring))
        empty_ring(slot, ended);
    else if (!slot->ring.buffer && atomic_load(&slot->lost_samples))
        pp_threads_warn_too_many();
    if (!ended || (!process_ends && is_to_wait(slot)))
        return;
    take_end(slot);
    pp_slot_release(slot);
}

static void take_rest(struct pp_slot *slot)
{
    if (atomic_load(&slot->state) != PP_SLOT_LIVE || !atomic_load(&slot->tid))
        return;
    struct pp_charge charge = pp_account_rest(&pp_interval.account, slot);
    if (charge.unsampled_ns || charge.lost_ns)
        add_charge(thread_id(slot, false), &charge);
}

void pp_drain_set_period(uint64_t period_ns)
{
    ticks = (struct pp_ticks){period_ns, pp_sys_tick_ns()};
    atomic_store(&pp_capture.overdue_ns, pp_account_overdue_ns(&ticks));
}

void pp_drain(bool final)
{
    process_ends = final;
    pp_each_slot(drain);
}

void pp_drain_settle(bool forgetting)
{
    pp_short_threads_settle(credit_estimate, give_up_estimate, forgetting);
}

void pp_drain_rest(void)
{
    pp_each_slot(take_rest);
}

uint64_t pp_drain_bound_ns(void)
{
    return pp_account_bound_ns(&ticks);
}

uint64_t pp_drain_samples_ns(void)
{
    return samples_ns;
}

void pp_drain_after_fork(void)
{
    samples_ns = 0;
}
