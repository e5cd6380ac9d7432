/* SPDX-License-Identifier: Apache-2.0 */
#include "finish_sample.h"
#include "../capture/capture.h"
#include "../capture/pairing.h"
#include "../modules/modules.h"
#include "../python/greenlet_switch.h"
#include <string.h>

#define MAX_SAMPLE                                                                                                     \
    (sizeof(struct pp_record_sample) + PP_MAX_NATIVE_FRAMES * sizeof(uint64_t) +                                       \
     PP_MAX_RUNS * sizeof(struct pp_record_run) + 8 + PP_MAX_PYTHON_FRAMES * sizeof(struct pp_record_frame))

/* Compiles what the walk stopped at, and continues it, until it ends for another reason. */
static void continue_walk(struct pp_native_stack *native)
{
    while (native->continuable) {
        const struct pp_walk_state *stopped = native->stopped;
        native->continuable = false;
        if (!pp_module_add_stopped(stopped->exact ? stopped->pc : stopped->pc - 1, !stopped->exact))
            return;
        native->table = pp_modules_draft();
        if (native->table)
            pp_native_continue(native);
        if (stopped->replaced)
            native->continuable = false;
    }
}

/* Compiles what a walk is resumed by beyond a gap. */
static void meet_eval_body(struct pp_stacks *stacks)
{
    uintptr_t body = 0;
    if (stacks->interpreter)
        body = atomic_load(&pp_capture.eval[stacks->interpreter->index].body);
    if (body && pp_module_add_sampled(body))
        stacks->native.table = pp_modules_draft();
}

const struct pp_record_sample *pp_sample_finish(const struct pp_record_unfinished *record)
{
    static struct pp_native_frame frames[PP_MAX_NATIVE_FRAMES];
    static union {
        struct pp_record_sample sample;
        uint8_t bytes[MAX_SAMPLE];
    } finished;
    const struct pp_record_sample *head = &record->sample;
    const struct pp_native_frame *native = (const struct pp_native_frame *)(record + 1);
    const struct pp_run *runs = (const struct pp_run *)(native + head->native_frames);
    const struct pp_record_frame *python = (const struct pp_record_frame *)(runs + head->runs);
    struct pp_stack_copy copy = {record->copy_start, record->copy_bytes,
                                 (const uint8_t *)(python + head->python_frames), false};
    struct pp_walk_state stopped = record->stopped;
    struct pp_stacks stacks = {
        .sp = record->sp,
        .stack_top = record->stack_top,
        .native = {.frames = frames,
                   .stopped = &stopped,
                   .copy = &copy,
                   .time = head->time,
                   .settled = pp_modules_hold_for(head->time),
                   .max = record->native_max,
                   .count = head->native_frames,
                   .reason = head->native_reason,
                   .continuable = true},
        .python = {.runs = head->runs,
                   .frames = head->python_frames,
                   .counted = record->counted,
                   .entering = record->entering,
                   .subinterpreter = record->subinterpreter,
                   .compiled = record->compiled},
        .runs = runs,
        .frames = python,
        .interpreter = record->interpreter == PP_NO_INTERPRETER ? NULL : pp_python_at(record->interpreter),
    };
    memcpy(frames, native, head->native_frames * sizeof *native);
    do {
        continue_walk(&stacks.native);
        meet_eval_body(&stacks);
        pp_stacks_resume_native(&stacks);
    } while (stacks.native.continuable);
    /* the rest of the stack was not copied */
    if (stacks.native.reason == PP_REASON_NATIVE_BAD_STACK && copy.exceeded)
        stacks.native.reason = PP_REASON_NATIVE_NO_ROWS;
    finished.sample = *head;
    pp_stacks_write(&stacks, &finished.sample);
    /* the handler has not seen all callers: what it has read of the frames may be another greenlet's */
    if (pp_greenlet_switch((const uint64_t *)(&finished.sample + 1), finished.sample.native_frames, false))
        finished.sample.contexts &= ~(1u << PP_CONTEXT_GREENLET);
    return &finished.sample;
}
