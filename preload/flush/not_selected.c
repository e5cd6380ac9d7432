/* SPDX-License-Identifier: Apache-2.0 */
#include "not_selected.h"
#include "../account/interval_data.h"
#include "../capture/capture.h"
#include "../common/pseudo_frames.h"
#include "../labels/thread_names.h"

void pp_not_selected_add(uint32_t thread, uint32_t state, uint64_t samples, uint64_t cpu_ns)
{
    struct pp_account *account = &pp_interval.account;
    uint32_t frame = pp_frame_pseudo(&pp_interval.tables, PP_PSEUDO_NOT_SELECTED);
    struct pp_sample_key key = {thread, pp_node_id(&pp_interval.tables, 0, frame), 0, state};
    account->sampled_ns += cpu_ns;
    account->samples += samples;
    if ((!samples && !cpu_ns) || !pp_add_sample(&account->sampled_ns, &key, samples, cpu_ns))
        return;
    account->not_selected_ns += cpu_ns;
    account->not_selected += samples;
}

/* Accounts for the cost of the handlers, as no record has it. */
static void consume_cost(struct pp_slot *slot)
{
    uint64_t profiler_ns = atomic_load(&slot->thread.profiler_ns);
    int64_t more_ns = (int64_t)(profiler_ns - slot->flush.seen_profiler_ns);
    slot->flush.seen_profiler_ns = profiler_ns;
    slot->flush.accounted_ns += (uint64_t)more_ns;
    pp_interval.account.profiler_ns += more_ns;
}

void pp_not_selected_consume(struct pp_slot *slot, bool ended)
{
    bool any = false;
    for (unsigned i = 0; i < PP_NOT_SELECTED_STATES; i++) {
        struct pp_not_selected *sums = &slot->thread.not_selected[i];
        uint64_t samples = atomic_load(&sums->samples) - slot->flush.seen_not_selected[i].samples;
        uint64_t cpu_ns = atomic_load(&sums->cpu_ns) - slot->flush.seen_not_selected[i].cpu_ns;
        uint32_t state = (i & 1 ? PP_STATE_HOLDS_GIL : 0) | (i & 2 ? PP_STATE_GIL_KNOWN : 0);
        if (!samples && !cpu_ns)
            continue;
        slot->flush.seen_not_selected[i].samples += samples;
        slot->flush.seen_not_selected[i].cpu_ns += cpu_ns;
        slot->flush.accounted_ns += cpu_ns;
        pp_not_selected_add(pp_thread_of_slot(slot, ended), state, samples, cpu_ns);
        any = true;
    }
    if (any)
        consume_cost(slot);
}

void pp_not_selected_before(struct pp_slot *slot, uint32_t thread, uint64_t period_ns, struct pp_record_sample *sample)
{
    uint64_t used_ns = sample->cpu_ns - sample->cpu_previous_ns;
    bool paused = atomic_load(&pp_capture.traces_pause) || sample->cpu_previous_ns < slot->flush.traces_pause_end_ns;
    if (!paused || used_ns <= period_ns)
        return;
    sample->cpu_previous_ns = sample->cpu_ns - period_ns;
    slot->flush.accounted_ns += used_ns - period_ns;
    pp_not_selected_add(thread, 0, 0, used_ns - period_ns);
}
