/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that sleeps changes none of its frames: that it slept from the first copy to the last is known by its CPU
 * clock, which has not moved. A thread that has released the GIL changes none either, whatever native code it runs:
 * that it has not come back in between is taken from a second copy that is equal. What the thread keeps alive may be
 * freed while we read, so everything is copied. */
#include "waiting.h"
#include "../account/interval_data.h"
#include "../base/proc_file.h"
#include "../base/syscalls.h"
#include "../capture/code_cache.h"
#include "../capture/python_frames.h"
#include "../capture/safe_read.h"
#include "../capture/slot_memory.h"
#include "../capture/tls_word.h"
#include "../merge/code_objects.h"
#include "../merge/stack_frames.h"
#include "../merge/stack_path.h"
#include <string.h>

#define POLL_NS    100000000u
#define STACKS_MAX 64 /* told apart in one interval */
#define WINDOW     2048u

/* A copy of a part of a page. */
struct window {
    uintptr_t start, end;
    uint8_t bytes[WINDOW + PP_FRAME_COPY_MAX];
};

static struct {
    /* What was observed in this segment; node 0: the main thread ran, or its stack could not be read. */
    struct {
        uint32_t node, count;
    } stacks[STACKS_MAX];
    uint32_t count, segment;
    struct pp_python_frame again[PP_MAX_PYTHON_FRAMES];
    /* The stack that was read last, of this interval. */
    struct {
        uint32_t node, frames, epoch; /* 0: none */
        uint64_t slept_cpu_ns;        /* the main thread's clock if it slept; 0: it did not */
        int tid;
        struct pp_python_frame python[PP_MAX_PYTHON_FRAMES];
        struct pp_record_frame resolved[PP_MAX_PYTHON_FRAMES];
    } last;
    struct pp_slot reader; /* its ring, code cache and scratch memory take what is read */
} waiting = {.reader = {.index = PP_MAX_THREADS}};

static struct pp_slot *main_thread(void)
{
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (slot->thread.is_main && atomic_load_explicit(&slot->state, memory_order_acquire) == PP_SLOT_LIVE)
            return slot;
    return NULL;
}

static bool sleeps(int tid)
{
    char stat[128];
    size_t bytes = pp_read_task_file(tid, "stat", stat, sizeof stat - 1);
    stat[bytes] = 0;
    const char *end = strrchr(stat, ')'); /* of the name; cut off, it is none of ours */
    return end && end[1] == ' ' && (end[2] == 'S' || end[2] == 'D');
}

/* Copies the main thread's state if it still is that. */
static bool copy_state(const struct pp_slot *slot, const struct pp_python *python, int pid, uint8_t *state)
{
    const struct pp_python_layout *layout = &python->layout;
    uintptr_t address = atomic_load_explicit(&slot->thread.thread_state, memory_order_relaxed);
    return pp_plausible(address) && !pp_word((const void *)python->runtime, layout->runtime.finalizing) &&
           pp_safe_read(pid, state, address, layout->thread_state.copy_size) &&
           pp_word(state, layout->thread_state.thread_id) == pp_pthread_of(slot->thread.thread_pointer) &&
           pp_word(state, layout->thread_state.interp) ==
               atomic_load_explicit(&slot->thread.interpreter_state, memory_order_relaxed);
}

/* Finds the innermost frame. */
static bool first_frame(const struct pp_python_layout *layout, int pid, const uint8_t *state, uintptr_t *frame)
{
    *frame = pp_word(state, layout->thread_state.top);
    if (layout->chain != PP_CHAIN_CFRAME_FLAG && layout->chain != PP_CHAIN_CFRAME_SHIM)
        return true;
    unsigned current = layout->chain == PP_CHAIN_CFRAME_FLAG ? 8 : 0; /* in the _PyCFrame */
    return pp_safe_read(pid, frame, *frame + current, sizeof *frame);
}

/* Whether the thread may not touch Python objects now, as far as is known. */
static bool is_detached(const struct pp_slot *slot, const struct pp_python *python)
{
    uintptr_t attached, state = atomic_load_explicit(&slot->thread.thread_state, memory_order_relaxed);
    if (python->layout.runtime.current)
        return pp_word((const void *)python->runtime, python->layout.runtime.current) != state;
    return pp_tls_copy(&python->attached, slot->thread.thread_pointer, &attached) && !attached;
}

/* Returns the bytes of a frame, NULL if they are gone. What lies below in its page comes with it: since 3.11 these are
 * the frames further out. */
static const uint8_t *frame_bytes(const struct pp_frame_reader *reader, struct window *window, uintptr_t address)
{
    size_t size = reader->layout->frame.copy_size;
    if (address < window->start || address + size > window->end) {
        window->start = address & ~(uintptr_t)(WINDOW - 1);
        window->end = address + size;
        if (!pp_plausible(address) ||
            !pp_safe_read(reader->pid, window->bytes, window->start, window->end - window->start))
            return NULL;
    }
    return window->bytes + (address - window->start);
}

/* Copies the frames, innermost first; frames: of PP_MAX_PYTHON_FRAMES. Returns how many; 0: they could not be read. */
static uint32_t read_frames(const struct pp_slot *slot, const struct pp_python *python, struct pp_scratch *scratch,
                            struct pp_python_frame *frames)
{
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    const struct pp_frame_reader reader = {.python = python, .layout = &python->layout, .pid = pid};
    struct window window = {.end = 0};
    uintptr_t address;
    uint32_t count = 0;
    if (!copy_state(slot, python, pid, scratch->thread_state) ||
        !first_frame(&python->layout, pid, scratch->thread_state, &address))
        return 0;
    while (address) {
        struct pp_frame frame;
        const uint8_t *bytes = count < PP_MAX_PYTHON_FRAMES ? frame_bytes(&reader, &window, address) : NULL;
        if (!bytes || !pp_frame_parse(&reader, bytes, &frame))
            return 0;
        if (!frame.is_shim)
            frames[count++] = (struct pp_python_frame){frame.code, frame.instr, address};
        address = frame.previous;
    }
    return count;
}

static void consume_definitions(struct pp_slot *reader)
{
    const struct pp_record *record;
    while ((record = pp_ring_peek(&reader->ring)) != NULL) {
        if (record->type == PP_RECORD_CODE)
            pp_codes_define(reader, (const struct pp_record_code *)record);
        pp_ring_release(&reader->ring, record);
    }
}

/* Whether this is the stack that was read last. */
static bool is_last(const struct pp_slot *reader, uint32_t frames)
{
    return waiting.last.node && frames == waiting.last.frames && reader->code_epoch == waiting.last.epoch &&
           memcmp(waiting.last.python, reader->scratch->python, frames * sizeof waiting.last.python[0]) == 0 &&
           memcmp(waiting.last.resolved, reader->scratch->resolved, frames * sizeof waiting.last.resolved[0]) == 0;
}

/* Returns the node of the stack in which the main thread sleeps, or runs native code without the GIL; 0 if it does
 * neither or its stack cannot be read. */
static uint32_t wait_stack(const struct pp_slot *slot, struct pp_slot *reader)
{
    const struct pp_python *python = atomic_load_explicit(&slot->thread.python, memory_order_acquire);
    int tid = atomic_load_explicit(&slot->tid, memory_order_relaxed), clock = pp_thread_cpu_clock(tid);
    uint64_t cpu_ns = pp_sys_clock_ns(clock);
    if (waiting.last.node && tid == waiting.last.tid && cpu_ns == waiting.last.slept_cpu_ns)
        return waiting.last.node; /* it has not run since */
    bool detached = python && is_detached(slot, python);
    /* the clock of a thread that runs moves between two looks, and its file in /proc takes the kernel 40 us */
    if (!python || (!detached && (pp_sys_clock_ns(clock) != cpu_ns || !sleeps(tid))))
        return 0;
    uint32_t frames = read_frames(slot, python, reader->scratch, reader->scratch->python), node = 0;
    enum pp_reason reason =
        pp_code_resolve(python, atomic_load(&slot->thread.interpreter_state), reader, frames, frames, false);
    consume_definitions(reader);
    if (!frames || reason != PP_REASON_NONE)
        return 0;
    bool slept = pp_sys_clock_ns(clock) == cpu_ns;
    if (!slept && !detached)
        return 0;
    /* one copy is enough of the stack that was read twice before: its innermost frame was there at the beginning */
    if (!slept && is_last(reader, frames))
        return waiting.last.node;
    if (!slept && (read_frames(slot, python, reader->scratch, waiting.again) != frames || !is_detached(slot, python) ||
                   memcmp(waiting.again, reader->scratch->python, frames * sizeof waiting.again[0]) != 0))
        return 0;
    for (uint32_t i = frames; i-- > 0;) {
        uint32_t frame = pp_stack_python_frame(&pp_interval.tables, reader, reader->code_epoch,
                                               &reader->scratch->resolved[i], i == 0);
        if (!frame)
            return 0;
        if (frame != PP_HIDDEN_FRAME)
            node = pp_node_id(&pp_interval.tables, node, frame);
    }
    waiting.last.node = node;
    waiting.last.frames = frames;
    waiting.last.epoch = reader->code_epoch;
    waiting.last.tid = tid;
    waiting.last.slept_cpu_ns = slept ? cpu_ns : 0;
    memcpy(waiting.last.python, reader->scratch->python, frames * sizeof waiting.last.python[0]);
    memcpy(waiting.last.resolved, reader->scratch->resolved, frames * sizeof waiting.last.resolved[0]);
    return node;
}

static void observe(void)
{
    const struct pp_slot *slot = main_thread();
    uint32_t node = 0, i = 0;
    if (waiting.segment != pp_interval.tables.segment)
        pp_waiting_forget();
    waiting.segment = pp_interval.tables.segment;
    if (slot && pp_slot_memory_begin(&waiting.reader)) {
        node = wait_stack(slot, &waiting.reader);
        pp_slot_memory_end(&waiting.reader);
    }
    while (i < waiting.count && waiting.stacks[i].node != node)
        i++;
    if (i == STACKS_MAX)
        return;
    if (i == waiting.count) {
        waiting.stacks[waiting.count].node = node;
        waiting.stacks[waiting.count++].count = 0;
    }
    waiting.stacks[i].count++;
}

uint64_t pp_waiting_poll(uint64_t now)
{
    /* a handler that finds IDLE wakes the flush thread, a handler that finds WATCHED does not */
    uint32_t state = atomic_exchange(&pp_capture.native_threads, PP_NATIVE_THREADS_WATCHED);
    if (state == PP_NATIVE_THREADS_WORK) {
        observe();
        return now + POLL_NS;
    }
    state = PP_NATIVE_THREADS_WATCHED;
    if (atomic_compare_exchange_strong(&pp_capture.native_threads, &state, PP_NATIVE_THREADS_IDLE))
        return UINT64_MAX;
    return now + POLL_NS;
}

void pp_waiting_write(struct pp_buffer *out, uint64_t start_ns, uint64_t wall_ns, uint32_t *sequence)
{
    static struct pp_buffer payload;
    if (!waiting.count || waiting.segment != pp_interval.tables.segment)
        return;
    pp_buffer_clear(&payload);
    pp_put_varint(&payload, start_ns);
    pp_put_varint(&payload, wall_ns);
    for (uint32_t i = 0; i < waiting.count; i++) {
        size_t record = pp_record_begin(&payload);
        pp_put_varint(&payload, waiting.stacks[i].node);
        pp_put_varint(&payload, waiting.stacks[i].count);
        pp_record_end(&payload, record);
    }
    pp_put_block(out, PP_BLOCK_WAITS, &payload, sequence);
    pp_waiting_forget();
}

void pp_waiting_forget(void)
{
    waiting.count = 0;
    waiting.last.node = 0;
}
