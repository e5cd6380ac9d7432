/* SPDX-License-Identifier: Apache-2.0 */
#include "drain.h"
#include "../account/interval_data.h"
#include "../account/short_threads.h"
#include "../base/config.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../common/pseudo_frames.h"
#include "../labels/context_facts.h"
#include "../labels/contexts.h"
#include "../labels/thread_names.h"
#include "../libunwind/libunwind.h"
#include "../merge/code_objects.h"
#include "../merge/finish_sample.h"
#include "../merge/stack_path.h"
#include "../merge/stacks.h"
#include "../modules/jit_code.h"
#include "../modules/modules.h"
#include "../threads/perf_clock.h"
#include "../threads/registry.h"
#include "../threads/scan.h"
#include "not_selected.h"
#include "traces.h"
#include <string.h>

#define UNREACHABLE_NS 50000000u /* used by a thread before it is worth a warning that no signal reaches it */

static struct pp_ticks ticks;

void pp_drain_modules_changed(void)
{
    pp_libunwind_forget();
    pp_stacks_modules_changed(&pp_interval.tables);
    pp_context_facts_modules_changed();
    /* what was unknown may be known now: handlers may call again */
    atomic_store(&pp_capture.modules, PP_MODULES_KNOWN);
}

bool pp_drain_refresh_modules(void)
{
    bool changed = pp_modules_refresh();
    if (changed)
        pp_drain_modules_changed();
    return changed;
}

static void add_charge(uint32_t thread, const struct pp_charge *charge)
{
    pp_add_pseudo(&pp_interval.account.unsampled_ns, thread, PP_PSEUDO_UNSAMPLED, 0, charge->unsampled_ns);
    pp_add_pseudo(&pp_interval.account.lost_ns, thread, PP_PSEUDO_LOST, charge->lost_samples, charge->lost_ns);
}

static struct pp_charge charge_for(struct pp_slot *slot, uint32_t thread, const struct pp_record_sample *record)
{
    bool closed = record->cpu_previous_ns < slot->flush.closed_ns;
    if (!pp_config.traces_only && !closed)
        return pp_account_sample(&pp_interval.account, slot, record, &ticks);
    struct pp_record_sample head = *record;
    if (closed)
        head.cpu_previous_ns = slot->flush.closed_ns;
    if (pp_config.traces_only)
        pp_not_selected_before(slot, thread, ticks.period_ns, &head);
    return pp_account_sample(&pp_interval.account, slot, &head, &ticks);
}

static void consume_sample(struct pp_slot *slot, const struct pp_record_sample *record)
{
    if (record->cpu_ns <= slot->flush.closed_ns)
        return; /* its handler was under way when a pause began */
    uint32_t thread = pp_thread_of_sample(slot, record);
    struct pp_charge charge = charge_for(slot, thread, record);
    uint32_t node = pp_stack_node(&pp_interval.tables, slot, record, pp_interval.account.reasons);
    for (unsigned i = PP_REASON_FIRST_CONTEXT; i < PP_REASON_COUNT; i++)
        pp_interval.account.reasons[i] += record->context_reasons >> (i - PP_REASON_FIRST_CONTEXT) & 1;
    uint32_t labels = pp_contexts_labels(slot, record->contexts);
    struct pp_sample_key key = {thread, node, labels, record->state};
    if (pp_add_sample(&pp_interval.account.sampled_ns, &key, 1, charge.sampled_ns) && record->contexts & PP_SELECTED)
        pp_traces_add(slot, &key, record->unix_ns, charge.sampled_ns);
    add_charge(thread, &charge);
    if (node)
        slot->flush.leaves[slot->flush.leaf_count++ % PP_LAST_STACKS] =
            (struct pp_leaf){node, labels, charge.sampled_ns};
    if (charge.lost_samples)
        pp_interval.account.reasons[PP_REASON_LOST_RING_FULL] += charge.lost_samples;
}

static bool has_unknown_code(const struct pp_record_sample *record)
{
    const uint64_t *native = (const uint64_t *)(record + 1);
    const struct pp_native_frame *unfinished =
        (const struct pp_native_frame *)((const struct pp_record_unfinished *)record + 1);
    bool finished = record->header.type == PP_RECORD_SAMPLE, known = true;
    for (unsigned i = 0; i < record->native_frames && known; i++)
        known = pp_module_find(finished ? native[i] & PP_NATIVE_ADDRESS : unfinished[i].ip);
    return !known;
}

/* Names samples by modules that were read after all that was unloaded before them, and after what they ran was loaded:
 * what is drained while samples are taken may be of a library that the reading at its beginning has not seen. */
static void refresh_for(const struct pp_record_sample *record)
{
    if (record->time.unloads > atomic_load(&pp_unloads.known) ||
        (pp_modules_may_lack(record->time) && has_unknown_code(record)))
        pp_drain_refresh_modules();
}

/* Takes a sample with a copy of the stack, and clears it: the program may wipe secrets from its stack. */
static void consume_unfinished(struct pp_slot *slot, const struct pp_record *record)
{
    consume_sample(slot, pp_sample_finish((const struct pp_record_unfinished *)record));
    memset(pp_ring_at(&slot->ring, pp_ring_first(&slot->ring)) + 1, 0, record->size - sizeof *record);
}

static void credit_estimate(uint32_t thread, struct pp_leaf leaf, uint64_t cpu_ns)
{
    pp_interval.account.sampled_ns += cpu_ns;
    pp_interval.account.estimated_ns += cpu_ns;
    struct pp_sample_key key = {thread, leaf.node, leaf.labels, PP_STATE_ESTIMATED};
    if (!pp_add_sample(&pp_interval.account.sampled_ns, &key, 0, cpu_ns))
        pp_interval.account.estimated_ns -= cpu_ns;
}

static void give_up_estimate(uint32_t thread, uint64_t cpu_ns)
{
    pp_interval.account.unsampled_ns += cpu_ns;
    pp_add_pseudo(&pp_interval.account.unsampled_ns, thread, PP_PSEUDO_UNSAMPLED, 0, cpu_ns);
}

/* What a thread used after its last sample goes to its own last stacks, or to those of threads like it if it was short.
 * Returns whether it has found its place. */
static bool estimate_tail(const struct pp_slot *slot, uint32_t thread, uint64_t tail_ns)
{
    uint32_t stacks = slot->flush.leaf_count < PP_LAST_STACKS ? slot->flush.leaf_count : PP_LAST_STACKS;
    struct pp_ended_thread ended = {
        .kind = (uintptr_t)slot->thread.start_routine,
        .cpu_ns = atomic_load(&slot->thread.final_cpu_ns),
        .tail_ns = tail_ns,
        .thread = thread,
        .pushed_off = slot->thread.pushed_off,
        .samples = stacks,
        .leaves = slot->flush.leaves,
    };
    if (ended.kind && pp_short_threads_end(&ended, pp_timers_period_ns(), ticks.tick_ns)) {
        pp_interval.account.unsampled_ns -= tail_ns;
        return true;
    }
    if (!stacks || (tail_ns > pp_account_bound_ns(&ticks) && !ended.pushed_off))
        return false;
    pp_interval.account.unsampled_ns -= tail_ns;
    credit_estimate(thread, slot->flush.leaves[tail_ns % stacks], tail_ns);
    return true;
}

static void add_paused(uint32_t thread, uint64_t cpu_ns)
{
    uint32_t frame = pp_frame_pseudo(&pp_interval.tables, PP_PSEUDO_PAUSED);
    struct pp_sample_key key = {thread, pp_node_id(&pp_interval.tables, 0, frame), 0, 0};
    pp_interval.account.sampled_ns += cpu_ns;
    pp_add_sample(&pp_interval.account.sampled_ns, &key, 0, cpu_ns);
}

/* Tells where the CPU time goes that a thread has used since its last sample, if that is known without its stack: to
 * the pause, or to traces that are not selected while there is no other. Returns whether it is. */
static bool add_known_rest(uint32_t thread, struct pp_charge *charge)
{
    bool paused = atomic_load(&pp_capture.stopped);
    if (!charge->unsampled_ns || (!paused && !atomic_load(&pp_capture.traces_pause)))
        return !charge->unsampled_ns;
    pp_interval.account.unsampled_ns -= charge->unsampled_ns;
    if (paused)
        add_paused(thread, charge->unsampled_ns);
    else
        pp_not_selected_add(thread, 0, 0, charge->unsampled_ns);
    charge->unsampled_ns = 0;
    return true;
}

static void consume_end(struct pp_slot *slot)
{
    struct pp_charge charge = pp_account_end(&pp_interval.account, slot);
    pp_interval.anything_new = true;
    if (atomic_load(&slot->timer) < PP_TIMER_ENDED && atomic_load(&slot->thread.final_cpu_ns) >= UNREACHABLE_NS)
        pp_thread_unreachable(slot);
    if (!charge.unsampled_ns && !charge.lost_ns)
        return;
    uint32_t thread = pp_thread_of_slot(slot, true);
    /* with PYPROF_TRACES=…,only there are no stacks of most of what threads like it do */
    if (!add_known_rest(thread, &charge) && !pp_config.traces_only && estimate_tail(slot, thread, charge.unsampled_ns))
        charge.unsampled_ns = 0;
    add_charge(thread, &charge);
}

/* A thread that lingers may use more CPU; what it has used since its clock was read last is thread exit, once it is
 * gone. A thread that has vanished gets its last part when the account is closed. */
static bool is_to_wait(struct pp_slot *slot)
{
    enum pp_ended *ended = &slot->flush.ended;
    if (*ended == PP_ENDED_REPORTED || *ended == PP_ENDED_LINGERS)
        *ended = pp_thread_lingers(slot) ? PP_ENDED_LINGERS : PP_ENDED_WHOLE;
    return *ended != PP_ENDED_WHOLE;
}

static void consume_context(struct pp_slot *slot, const struct pp_record_context *record)
{
    if (record->kind == PP_CONTEXT_THREAD)
        pp_thread_record_name(slot, record);
    else
        pp_contexts_consume(slot, record);
}

static void empty_ring(struct pp_slot *slot, bool ended)
{
    const struct pp_record *record;
    bool is_defined = false;
    while ((record = pp_ring_peek(&slot->ring))) {
        bool is_sample = record->type == PP_RECORD_SAMPLE || record->type == PP_RECORD_UNFINISHED;
        if (is_sample && !is_defined) { /* the first sample may come with the thread's name */
            pp_thread_of_slot(slot, ended);
            is_defined = true;
        }
        if (is_sample)
            refresh_for((const struct pp_record_sample *)record);
        if (record->type == PP_RECORD_CODE)
            pp_codes_define(slot, (const struct pp_record_code *)record);
        else if (record->type == PP_RECORD_CONTEXT)
            consume_context(slot, (const struct pp_record_context *)record);
        else if (record->type == PP_RECORD_SAMPLE)
            consume_sample(slot, (const struct pp_record_sample *)record);
        else if (record->type == PP_RECORD_UNFINISHED)
            consume_unfinished(slot, record);
        pp_ring_release(&slot->ring, record);
    }
}

static void drain(struct pp_slot *slot, bool final)
{
    /* read before the ring: what has ended writes no more */
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
    if (state != PP_SLOT_LIVE && state != PP_SLOT_ENDED)
        return;
    bool ended = state == PP_SLOT_ENDED;
    if (pp_ring_peek(&slot->ring))
        empty_ring(slot, ended);
    else if (!slot->ring.buffer && atomic_load(&slot->thread.lost_samples))
        pp_threads_warn_too_many();
    if (pp_config.traces_only)
        pp_not_selected_consume(slot, ended);
    if (!ended || (!final && is_to_wait(slot)))
        return;
    consume_end(slot);
    pp_event_close(slot);
    pp_slot_release(slot);
}

void pp_drain_set_period(uint64_t period_ns)
{
    ticks = (struct pp_ticks){period_ns, pp_sys_tick_ns()};
    atomic_store(&pp_capture.overdue_ns, pp_account_overdue_ns(&ticks));
}

void pp_drain(bool final)
{
    struct pp_slot *slot;
    pp_jit_code_begin();
    pp_path_forget(); /* JITs may have replaced code */
    for (uint32_t i = 0; (slot = pp_slot_at(i)) != NULL; i++)
        drain(slot, final);
}

void pp_drain_settle(bool forgetting)
{
    pp_short_threads_settle(credit_estimate, give_up_estimate, forgetting);
}

void pp_drain_rest(void)
{
    struct pp_slot *slot;
    for (uint32_t i = 0; (slot = pp_slot_at(i)) != NULL; i++) {
        if (atomic_load(&slot->state) != PP_SLOT_LIVE || !atomic_load(&slot->tid))
            continue;
        struct pp_charge charge = pp_account_rest(&pp_interval.account, slot);
        slot->flush.closed_ns = slot->flush.accounted_ns;
        /* for what the handler sums up itself: samples that are not selected */
        atomic_store_explicit(&slot->thread.cpu_end_ns, slot->flush.closed_ns, memory_order_relaxed);
        if (!charge.unsampled_ns && !charge.lost_ns)
            continue;
        uint32_t thread = pp_thread_of_slot(slot, false);
        add_known_rest(thread, &charge);
        add_charge(thread, &charge);
    }
}

uint64_t pp_drain_bound_ns(void)
{
    return pp_account_bound_ns(&ticks);
}
