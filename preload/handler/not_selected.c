/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the samples that PYPROF_TRACES=…,only does not select, before their stacks are walked. */
#include "../context/context.h"
#include "handler.h"

/* Whether a sample is of a trace that PYPROF_TRACES selects; state: what it has of PP_STATE_*. async-signal-safe. */
static bool is_selected(struct pp_slot *slot, uint32_t *state)
{
    struct pp_thread_state found;
    *state = 0;
    if (slot->thread.scanned && !slot->thread.thread_pointer)
        slot->thread.thread_pointer = pp_foreign_thread_pointer(slot);
    if (!slot->thread.thread_pointer)
        return false;
    pp_thread_state_find(slot, &found);
    *state = found.state;
    if (!found.python)
        return pp_contexts_selected_native(slot);
    const struct pp_context_reader reader = pp_context_reader_of(&found, slot);
    return pp_contexts_selected(&reader);
}

bool pp_count_not_selected(struct pp_slot *slot, uint64_t cpu_ns)
{
    uint32_t state;
    if (is_selected(slot, &state)) {
        atomic_store_explicit(&pp_capture.traces_met, 1, memory_order_relaxed);
        if (atomic_load_explicit(&pp_capture.traces_pause, memory_order_relaxed))
            pp_wake_flush(PP_WAKE_TRACES);
        return false;
    }
    struct pp_not_selected *sums = &slot->thread.not_selected[pp_not_selected_index(state)];
    uint64_t previous_ns = atomic_load_explicit(&slot->thread.cpu_end_ns, memory_order_relaxed);
    uint64_t sum_ns = atomic_load_explicit(&sums->cpu_ns, memory_order_relaxed) + cpu_ns - previous_ns;
    uint64_t samples = atomic_load_explicit(&sums->samples, memory_order_relaxed) + 1;
    atomic_store_explicit(&sums->cpu_ns, sum_ns, memory_order_relaxed);
    atomic_store_explicit(&sums->samples, samples, memory_order_relaxed);
    return true;
}
