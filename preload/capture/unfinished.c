/* SPDX-License-Identifier: Apache-2.0 */
#include "unfinished.h"
#include "../base/syscalls.h"
#include "capture.h"
#include <errno.h>
#include <string.h>

#define MAX_COPY        ((uintptr_t)64 << 10) /* bytes of the stack */
#define MIN_COPY        1024u
#define COPIES_QUARTERS 3 /* of the ring: what copies may fill, so that no sample is lost for them */
#define NEXT_COPIES     2 /* of this one's size: they find room, or the ring is drained */

/* The part of the stack that the rest of the walk may read. */
struct part {
    uintptr_t start, size;
};

/* Returns what is to be copied: from the red zone of interrupted code, or from the stack pointer of its callers, up to
 * the end of the stack or `room` bytes. async-signal-safe. */
static struct part part_of(const struct pp_walk_state *stopped, uint32_t room)
{
    uintptr_t start = stopped->registers[PP_REG_SP] - (stopped->exact ? PP_RED_ZONE : 0);
    start = ((start > stopped->low ? start : stopped->low) + 7) & ~(uintptr_t)7;
    if (!stopped->readable || start >= stopped->top)
        return (struct part){0, 0};
    uintptr_t size = (stopped->top - start) & ~(uintptr_t)7;
    size = size < MAX_COPY ? size : MAX_COPY;
    return (struct part){start, size < room ? size : room};
}

/* Copies the part; returns how much of it is there. Where the kernel refuses to copy, only the stack pointer's own page
 * is certain to be mapped: what lies above may be a hole. async-signal-safe. */
static uint32_t copy(const struct pp_walk_state *stopped, const struct part *part, uint8_t *to)
{
    struct iovec local = {to, part->size}, remote = {(void *)part->start, part->size};
    long copied = pp_sys_safe_copy(pp_sys_getpid(), &local, 1, &remote, 1);
    if (copied < 0 && copied != -EFAULT && !stopped->other_stack &&
        (part->start ^ stopped->registers[PP_REG_SP]) < pp_page_size()) {
        uintptr_t left = pp_page_size() - (part->start & (pp_page_size() - 1));
        copied = (long)(part->size < left ? part->size : left);
        memcpy(to, (const void *)part->start, (size_t)copied);
    }
    return copied > 0 ? (uint32_t)copied & ~7u : 0;
}

/* Returns the bytes of the largest record with a copy. async-signal-safe. */
static uint32_t room_for(struct pp_ring *ring)
{
    uint32_t room = pp_ring_room(ring), used = pp_ring_used(ring), part = ring->size / 4 * COPIES_QUARTERS;
    if (used >= part)
        return 0;
    return room < part - used ? room : part - used;
}

/* Fills in all but the copy. async-signal-safe. */
static void fill(struct pp_record_unfinished *record, const struct pp_record_sample *head,
                 const struct pp_stacks *stacks, uintptr_t copy_start)
{
    const struct pp_native_stack *native = &stacks->native;
    struct pp_record header = record->sample.header;
    *record = (struct pp_record_unfinished){
        .sample = *head,
        .stopped = *native->stopped,
        .sp = stacks->sp,
        .stack_top = stacks->stack_top,
        .copy_start = copy_start,
        .interpreter = stacks->interpreter ? stacks->interpreter->index : PP_NO_INTERPRETER,
        .native_max = (uint16_t)native->max,
        .counted = stacks->python.counted,
        .entering = stacks->python.entering,
        .subinterpreter = stacks->python.subinterpreter,
        .compiled = stacks->python.compiled,
    };
    record->sample.header = header;
    record->sample.native_reason = (uint8_t)native->reason;
    record->sample.native_frames = (uint16_t)native->count;
    record->sample.runs = (uint16_t)stacks->python.runs;
    record->sample.python_frames = (uint16_t)stacks->python.frames;
    uint8_t *to = (uint8_t *)(record + 1);
    memcpy(to, native->frames, native->count * sizeof *native->frames);
    to += native->count * sizeof *native->frames;
    memcpy(to, stacks->runs, stacks->python.runs * sizeof *stacks->runs);
    to += stacks->python.runs * sizeof *stacks->runs;
    memcpy(to, stacks->frames, stacks->python.frames * sizeof *stacks->frames);
}

bool pp_sample_write_unfinished(struct pp_slot *slot, const struct pp_record_sample *head,
                                const struct pp_stacks *stacks)
{
    uint32_t room = room_for(&slot->ring);
    uint32_t fixed =
        (uint32_t)(sizeof(struct pp_record_unfinished) + stacks->native.count * sizeof *stacks->native.frames +
                   stacks->python.runs * sizeof *stacks->runs + stacks->python.frames * sizeof *stacks->frames);
    if (room < fixed + MIN_COPY)
        return false;
    struct part part = part_of(stacks->native.stopped, room - fixed);
    struct pp_record_unfinished *record =
        part.size ? pp_ring_reserve(&slot->ring, fixed + (uint32_t)part.size, PP_RECORD_UNFINISHED) : NULL;
    if (!record)
        return false;
    fill(record, head, stacks, part.start);
    /* without a copy, the function is met at least */
    record->copy_bytes = copy(stacks->native.stopped, &part, (uint8_t *)record + fixed);
    record->sample.header.size = fixed + record->copy_bytes;
    PP_CHECK(record->copy_bytes <= part.size);
    pp_ring_commit(&slot->ring, record);
    /* a copy ends with its stack: what called a signal's handler or a coroutine has no rows until a later sample */
    if (stacks->native.stopped->other_stack || room_for(&slot->ring) < NEXT_COPIES * (fixed + (uint32_t)part.size))
        pp_wake_flush(PP_WAKE_DRAIN);
    return true;
}
