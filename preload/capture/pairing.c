/* SPDX-License-Identifier: Apache-2.0 */
#include "pairing.h"
#include "capture.h"
#include <string.h>

#define EVAL_FRAME_MAX     4096 /* bytes of a native eval frame */
#define FRAME_POINTER_HOPS 8
#define OUTER_RUNS         4 /* at the outer end of a deep stack, whose native frames are still found */

/* Whether native frame i, [its sp, its cfa), holds the address. */
static bool holds(const struct pp_stacks *stacks, unsigned i, uintptr_t address)
{
    const struct pp_native_frame *frames = stacks->native.frames;
    return address < frames[i].cfa && address >= (i ? frames[i - 1].cfa : stacks->sp);
}

/* Returns how the frames of 3.8–3.10 go to native frames. An eval frame that is being entered is in addition to those
 * that have a Python frame. async-signal-safe. */
static uint16_t counted(const struct pp_python_stack *python)
{
    return python->subinterpreter && !python->entering ? PP_RUN_COUNTED_INNER : PP_RUN_COUNTED;
}

/* Finds each run's native frame by its marker. Runs in a truncated stack's middle go to its gap. async-signal-safe. */
static void pair_runs(const struct pp_stacks *stacks, struct pp_record_run *out)
{
    const struct pp_python_stack *python = &stacks->python;
    const struct pp_native_frame *frames = stacks->native.frames;
    unsigned frame = 0, native = stacks->native.count;
    for (uint32_t i = 0; i < python->runs; i++) {
        uintptr_t marker = stacks->runs[i].marker;
        while (frame < native && marker >= frames[frame].cfa)
            frame++;
        bool inside = marker && frame < native && holds(stacks, frame, marker);
        out[i].native = inside ? (uint16_t)frame : PP_RUN_UNPAIRED;
        out[i].frames = (uint16_t)stacks->runs[i].frames;
        if (!marker) /* an eval call that is being entered has no frame yet: a run of its own would have a marker */
            out[i].native = python->counted                             ? counted(python)
                            : python->compiled && i + 1 == python->runs ? PP_RUN_COMPILED
                            : !i && python->entering                    ? PP_RUN_CALLER
                                                                        : PP_RUN_NEXT;
        if (inside && i && frame && out[i - 1].native == frame && frames[frame - 1].ip & PP_NATIVE_DEEP)
            out[i - 1].native = (uint16_t)(frame - 1);
    }
}

/* Learns the constant distance from a marker to its eval frame's CFA, from a frame at a call; not at one of the first
 * calls, before the function has saved what its callers are found by. async-signal-safe. */
static void learn_eval_frame(const struct pp_python *python, const struct pp_native_stack *native, uintptr_t marker)
{
    if (native->reason != PP_REASON_NONE ||
        atomic_load_explicit(&pp_capture.eval[python->index].marker_to_end, memory_order_relaxed))
        return;
    for (unsigned i = 1; i < native->count; i++) {
        const struct pp_native_frame *frame = &native->frames[i];
        if (marker < frame->cfa && marker >= native->frames[i - 1].cfa && pp_python_of_code(frame->ip) == python &&
            pp_native_saves_frame_pointer(native, frame->ip)) {
            atomic_store_explicit(&pp_capture.eval[python->index].body, frame->ip, memory_order_relaxed);
            atomic_store_explicit(&pp_capture.eval[python->index].marker_to_end, (uint32_t)(frame->cfa - marker),
                                  memory_order_release);
            return;
        }
    }
}

/* Whether frame pointers lead to the eval frame that holds the marker: the one where the walk ended, or one saved a
 * few frames further out (a JIT's), is above the marker by an eval frame's size at most, and the return address there
 * is in the interpreter. Stores it in native->frame_pointer. async-signal-safe. */
static bool find_frame_pointer(const struct pp_python *python, struct pp_native_stack *native, uintptr_t marker,
                               uintptr_t stack_top)
{
    uintptr_t at = native->frame_pointer, from = native->frames[native->count - 1].cfa;
    for (unsigned hops = 0; hops < FRAME_POINTER_HOPS; hops++) {
        uintptr_t words[2]; /* the caller's, the return address; a copy, since the register may be anything */
        if (at % sizeof at || at < from || at >= stack_top - sizeof words ||
            !pp_native_read(native, words, at, sizeof words))
            return false;
        if (at > marker) {
            native->frame_pointer = at;
            return at - marker <= EVAL_FRAME_MAX && pp_python_of_code(pp_return_address(words[1])) == python;
        }
        from = at + 1;
        at = words[0];
    }
    return false;
}

/* Whether the walk ended in code without unwind rows (a JIT's, assembly's, a new module's) or at its depth limit.
 * async-signal-safe. */
static bool ended_in_gap(const struct pp_native_stack *native)
{
    if (native->continuable)
        return false;
    return native->reason == PP_REASON_NATIVE_TOO_DEEP || native->reason == PP_REASON_NATIVE_NO_MODULE ||
           native->reason == PP_REASON_NATIVE_NO_RULE || native->reason == PP_REASON_NATIVE_NO_ROWS;
}

void pp_stacks_resume_native(struct pp_stacks *stacks)
{
    const struct pp_python *python = stacks->interpreter;
    struct pp_native_stack *native = &stacks->native;
    if (!python || native->continuable)
        return;
    learn_eval_frame(python, native, stacks->runs[0].marker);
    uint32_t distance = atomic_load_explicit(&pp_capture.eval[python->index].marker_to_end, memory_order_acquire);
    uintptr_t body = atomic_load_explicit(&pp_capture.eval[python->index].body, memory_order_relaxed);
    native->max = PP_MAX_NATIVE_FRAMES;
    for (uint32_t run = 0; run < stacks->python.runs && ended_in_gap(native); run++) {
        uintptr_t marker = stacks->runs[run].marker;
        bool deep = native->reason == PP_REASON_NATIVE_TOO_DEEP;
        if (marker < native->frames[native->count - 1].cfa || (deep && run + OUTER_RUNS < stacks->python.runs))
            continue;
        if (!distance && !find_frame_pointer(python, native, marker, stacks->stack_top))
            return;
        uintptr_t *end = &native->frames[native->count - 1].ip, known_end = *end;
        unsigned before = native->count;
        enum pp_reason reason = native->reason;
        *end |= PP_NATIVE_BROKEN | (deep ? PP_NATIVE_DEEP : reason == PP_REASON_NATIVE_NO_RULE ? PP_NATIVE_NO_RULE : 0);
        if (distance)
            pp_native_resume(body, marker + distance, stacks->stack_top, native);
        else
            pp_native_resume_at_frame_pointer(python->eval_function, stacks->stack_top, native);
        if (native->count == before) { /* nothing was found beyond it */
            *end = known_end;
            native->reason = reason;
        }
    }
}

/* Whether each Python frame belongs to a run. */
static bool runs_hold_all(const struct pp_stacks *stacks)
{
    uint32_t frames = 0;
    for (uint32_t i = 0; i < stacks->python.runs; i++)
        frames += stacks->runs[i].frames;
    return frames == stacks->python.frames;
}

/* Bytes of the runs in a record. async-signal-safe. */
static uint32_t run_bytes(const struct pp_stacks *stacks)
{
    return (uint32_t)(stacks->python.runs * sizeof(struct pp_record_run) + 7) & ~7u;
}

uint32_t pp_stacks_size(const struct pp_stacks *stacks)
{
    return (uint32_t)(sizeof(struct pp_record_sample) + stacks->native.count * sizeof(uint64_t) + run_bytes(stacks) +
                      stacks->python.frames * sizeof(struct pp_record_frame));
}

void pp_stacks_write(const struct pp_stacks *stacks, struct pp_record_sample *to)
{
    PP_CHECK(stacks->native.count <= PP_MAX_NATIVE_FRAMES && runs_hold_all(stacks));
    to->native_reason = (uint8_t)stacks->native.reason;
    to->native_frames = (uint16_t)stacks->native.count;
    to->runs = (uint16_t)stacks->python.runs;
    to->python_frames = (uint16_t)stacks->python.frames;
    uint64_t *native = (uint64_t *)(to + 1);
    for (unsigned i = 0; i < stacks->native.count; i++)
        native[i] = stacks->native.frames[i].ip;
    uint8_t *runs = (uint8_t *)(native + stacks->native.count);
    pair_runs(stacks, (struct pp_record_run *)runs);
    memcpy(runs + run_bytes(stacks), stacks->frames, stacks->python.frames * sizeof(struct pp_record_frame));
}
