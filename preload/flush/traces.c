/* SPDX-License-Identifier: Apache-2.0 */
#include "traces.h"
#include "../base/config.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../labels/contexts.h"
#include "../log/notes.h"
#include "../threads/perf_clock.h"
#include "../threads/timers.h"

#define MAX_BYTES (512u << 10) /* of an interval: some 10,000 samples */

static struct {
    uint64_t dropped, said; /* samples, in this process; as the last notice said */
    uint64_t met_ns;        /* CLOCK_MONOTONIC when there was a selected trace last; 0: no review so far */
} traces;

void pp_traces_add(const struct pp_slot *slot, const struct pp_sample_key *key, uint64_t unix_ns, uint64_t cpu_ns)
{
    uint8_t ids[PP_TRACE_IDS_BYTES];
    struct pp_buffer *records = &pp_interval.trace_records;
    if (records->length >= MAX_BYTES || records->failed) {
        traces.dropped++;
        return;
    }
    pp_contexts_trace(slot, ids);
    size_t record = pp_record_begin(records);
    pp_put_svarint(records, (int64_t)(unix_ns - pp_interval.start_ns));
    pp_put_varint(records, key->thread);
    pp_put_varint(records, key->node);
    pp_put_varint(records, key->labels);
    pp_put_varint(records, key->state);
    pp_put_varint(records, cpu_ns);
    pp_put_bytes(records, ids, sizeof ids);
    pp_record_end(records, record);
}

/* Says it when it has become twice as many: not every second. */
static void note_dropped(void)
{
    char line[160];
    if (traces.dropped < 2 * traces.said || traces.dropped == traces.said)
        return;
    traces.said = traces.dropped;
    pp_note(1, pp_format(line, sizeof line,
                         "PYPROF_TRACES: %lu samples so far are not among those of single traces, of which a "
                         "second has room for some 10,000",
                         traces.dropped));
}

void pp_traces_write(struct pp_buffer *out, uint32_t *sequence)
{
    static struct pp_buffer payload;
    note_dropped();
    if (!pp_interval.trace_records.length || pp_interval.trace_records.failed)
        return;
    pp_buffer_clear(&payload);
    pp_put_varint(&payload, pp_interval.start_ns);
    pp_put_bytes(&payload, pp_interval.trace_records.data, pp_interval.trace_records.length);
    pp_put_block(out, PP_BLOCK_TRACES, &payload, sequence);
}

static void set_pause(bool pause)
{
    atomic_store(&pp_capture.traces_pause, pause);
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        if (atomic_load(&slot->state) != PP_SLOT_LIVE)
            continue;
        if (!pause) /* the watchdog waits for a sample from here on */
            slot->flush.traces_pause_end_ns = slot->flush.watched_ns =
                pp_sys_clock_ns(pp_thread_cpu_clock(atomic_load(&slot->tid)));
        pp_timer_follow(slot, false);
        if (atomic_load(&slot->thread.event_period_ns))
            pp_event_follow(slot, false);
    }
}

void pp_traces_review(uint64_t now_monotonic_ns)
{
    if (!pp_config.traces_only)
        return;
    bool met = atomic_exchange(&pp_capture.traces_met, 0) || atomic_load(&pp_capture.traces_begun);
    if (met || !traces.met_ns)
        traces.met_ns = now_monotonic_ns;
    bool pause = now_monotonic_ns - traces.met_ns >= PP_TRACES_PAUSE_NS;
    if (pause != atomic_load(&pp_capture.traces_pause))
        set_pause(pause);
    if (pause && atomic_load(&pp_capture.traces_met)) /* begun meanwhile */
        pp_traces_review(now_monotonic_ns);
}

void pp_traces_after_fork(void)
{
    pp_buffer_clear(&pp_interval.trace_records);
    traces.dropped = traces.said = traces.met_ns = 0;
    atomic_store(&pp_capture.traces_begun, 0);
    atomic_store(&pp_capture.traces_pause, 0);
}
