/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge. The handler has paired each run of Python frames with the native frame that executes it (the run's entry
 * marker lies inside that frame), so from the root on: a paired native frame is replaced by its run, any other is shown
 * as it is. Native eval frames without a run are on their way into or out of a Python function when they are the
 * innermost ones, and say so by not being shown; anywhere else they mean that the pairing failed.
 */
#include "stacks.h"
#include "../capture/capture.h"
#include "../capture/python_walk.h"
#include "../common/pseudo_frames.h"
#include "../modules/jit_code.h"
#include "../modules/modules.h"
#include "../python/eval_ranges.h"
#include "../python/greenlet_switch.h"
#include "awaiting.h"
#include "code_objects.h"
#include "stack_frames.h"
#include "stack_path.h"
#include <string.h>

struct view {
    const struct pp_record_sample *head;
    const uint64_t *native;
    const struct pp_record_run *runs;
    const struct pp_record_frame *python;
};

/* Returns the sample's native frames without those addresses that belonged to other modules than now. Valid until the
 * next call. */
static const uint64_t *present_frames(const struct pp_record_sample *sample)
{
    static uint64_t frames[PP_MAX_NATIVE_FRAMES];
    const uint64_t *native = (const uint64_t *)(sample + 1);
    if (pp_modules_hold_for(sample->time))
        return native;
    for (unsigned i = 0; i < sample->native_frames; i++) {
        const struct pp_module *module = pp_module_find(native[i] & PP_NATIVE_ADDRESS);
        frames[i] = module && pp_is_newer(module->since, sample->time)
                        ? (native[i] & ~PP_NATIVE_ADDRESS) | PP_UNLOADED_CODE
                        : native[i];
    }
    return frames;
}

static struct view view_of(const struct pp_record_sample *sample)
{
    struct view view = {.head = sample, .native = present_frames(sample)};
    const uint8_t *runs = (const uint8_t *)((const uint64_t *)(sample + 1) + sample->native_frames);
    view.runs = (const struct pp_record_run *)runs;
    view.python =
        (const struct pp_record_frame *)(runs + ((sample->runs * sizeof(struct pp_record_run) + 7) & ~(size_t)7));
    return view;
}

void pp_stacks_modules_changed(struct pp_tables *tables)
{
    pp_arena_clear(&tables->native_arena);
    pp_intern_init(&tables->native_frames, &tables->native_arena);
    pp_path_forget();
    pp_greenlet_refresh();
}

static bool is_counted(unsigned native)
{
    return native == PP_RUN_COUNTED || native == PP_RUN_COUNTED_INNER;
}

/* Index of the native frame that runs the outermost Python frames, `count` if that is not known. */
static unsigned outermost_eval(const struct view *view)
{
    unsigned runs = view->head->runs, count = view->head->native_frames;
    if (runs == 0 || view->runs[runs - 1].native == PP_RUN_UNPAIRED || view->runs[runs - 1].native == PP_RUN_COMPILED)
        return count;
    if (!is_counted(view->runs[runs - 1].native))
        return view->runs[runs - 1].native;
    unsigned left = view->head->python_frames;
    for (unsigned i = 0; i < count; i++)
        if (pp_in_eval(view->native[i]) && --left == 0)
            return i;
    return count;
}

/* Where the native stack of a sample ends. A greenlet's Python frames end at its first function, but the C stack goes
 * on into whatever other greenlets left there: beyond the outermost run, greenlet's own code is the end. */
static unsigned native_end(const struct view *view, bool *at_greenlet)
{
    unsigned native = view->head->native_frames;
    *at_greenlet = false;
    for (unsigned i = outermost_eval(view) + 1; i < native; i++)
        if (pp_greenlet_holds(view->native[i])) {
            *at_greenlet = true;
            return i;
        }
    return native;
}

/* What the key of a step holds. Bits of the second word, which tell the kinds apart. */
#define BY_ADDRESS   0u
#define BY_FRAME     1u
#define BY_CODE      2u
#define BY_INNERMOST 3u /* code, of the innermost frame */

static struct pp_path_key key_of(uint64_t first, uint64_t second, unsigned kind)
{
    return (struct pp_path_key){{first, second << 2 | kind}};
}

static void step(struct pp_path *path, uint32_t frame)
{
    struct pp_path_key key = key_of(frame, 0, BY_FRAME);
    if (frame != PP_HIDDEN_FRAME && !pp_path_repeat(path, key))
        pp_path_step(path, key, frame);
}

static struct pp_path_key address_key(uintptr_t address)
{
    return key_of(address, 0, BY_ADDRESS);
}

/* The address is in a module. */
static void step_address(struct pp_path *path, uintptr_t address)
{
    struct pp_path_key key = address_key(address);
    if (!pp_path_repeat(path, key))
        pp_path_step(path, key, pp_stack_native_frame(path->tables, address));
}

static void step_python(struct pp_path *path, struct pp_slot *slot, uint32_t epoch, const struct pp_record_frame *frame,
                        bool innermost)
{
    struct pp_path_key key = key_of((uint64_t)frame->entry << 32 | (uint32_t)frame->unit,
                                    (uint64_t)epoch << 30 ^ slot->index, innermost ? BY_INNERMOST : BY_CODE);
    if (!pp_path_repeat(path, key))
        pp_path_step(path, key, pp_stack_python_frame(path->tables, slot, epoch, frame, innermost));
}

/* This frame marks where Python frames were left out, however many. */
static void step_cut(struct pp_path *path)
{
    uint32_t frame = pp_stack_reason_frame(path->tables, PP_REASON_PYTHON_TOO_DEEP);
    if (frame != path->frame)
        step(path, frame);
}

static void step_mark(struct pp_path *path, unsigned reason)
{
    step(path, pp_stack_reason_frame(path->tables, reason));
}

static void step_reason(struct pp_path *path, unsigned reason, uint64_t reasons[PP_REASON_COUNT])
{
    reasons[reason]++;
    step_mark(path, reason);
}

/* Puts the tasks that await the sample's before what they await. What a task is called is in the sample's labels.
 * Returns whether there are any. */
static bool step_awaiters(struct pp_path *path, struct pp_slot *slot, uint32_t contexts)
{
    unsigned count = 0;
    while (pp_awaiting_find(slot, contexts, count))
        count++;
    for (unsigned n = count; n-- > 0;) {
        const struct pp_awaiting *awaiting = pp_awaiting_find(slot, contexts, n);
        step(path, pp_frame_pseudo(path->tables, PP_PSEUDO_AWAITER));
        for (uint32_t i = 0; i < awaiting->count; i++) {
            if (awaiting->frames[i].number)
                step(path, pp_stack_place_frame(path->tables, awaiting->frames[i]));
            else
                step_cut(path);
        }
    }
    return count;
}

/* The task's own stack begins. */
static void step_task(struct pp_path *path, struct pp_slot *slot, uint32_t contexts)
{
    path->outside = false;
    step_awaiters(path, slot, contexts);
    step(path, pp_frame_pseudo(path->tables, PP_PSEUDO_TASK));
}

/* Whether a coroutine runs further out than the task: the coroutine of a task that has started this task eagerly, or
 * that runs a loop of its own. */
static bool runs_in_other_task(struct pp_slot *slot, const struct view *view)
{
    const struct pp_code *code;
    uint32_t number;
    for (unsigned i = view->head->task_frame + 1u; i < view->head->python_frames; i++)
        if ((code = pp_codes_find(slot, view->head->epoch, view->python[i].entry, &number)) != NULL &&
            code->flags & PP_CO_COROUTINES)
            return true;
    return false;
}

/* A run's frames, outermost first. `first` is the index of its innermost one. */
static void step_run(struct pp_path *path, struct pp_slot *slot, const struct view *view, unsigned first,
                     unsigned count)
{
    for (unsigned i = count; i-- > 0;) {
        const struct pp_record_frame *python = &view->python[first + i];
        if (first + i == view->head->task_frame)
            step_task(path, slot, view->head->contexts);
        if (python->entry == PP_ENTRY_CUT)
            step_cut(path);
        else
            step_python(path, slot, view->head->epoch, python, first + i == 0);
    }
}

/* Says how the Python frames of 3.8–3.10 are assigned to native frames: each eval frame runs one of them, from the root
 * on. An eval frame more than there are Python frames is the innermost one, on its way into or out of its function.
 * Python frames more than there are eval frames go to the innermost: in 3.10 throw() links generators that none runs.
 * Of a subinterpreter, eval frames more than there are Python frames are the outermost ones, of the interpreter that
 * called it. */
struct counted {
    unsigned beyond; /* Python frames further out than all that the native walk saw */
    unsigned left;   /* eval frames that have none yet */
    unsigned other;  /* of these, the outermost ones, another interpreter's */
    bool fits;
};

static struct counted count_evals(const struct view *view, unsigned native, bool complete)
{
    unsigned evals = 0, frames = view->head->python_frames;
    for (unsigned i = 0; i < native; i++)
        evals += pp_in_eval(view->native[i]);
    bool inner = view->head->runs && view->runs[0].native == PP_RUN_COUNTED_INNER;
    return (struct counted){
        .other = inner && evals > frames ? evals - frames : 0,
        .beyond = frames > evals && !(complete && evals) ? frames - evals : 0,
        .left = evals,
        .fits = evals <= frames + !inner && (evals >= frames || !complete),
    };
}

/* CPython writes its trampolines (-X perf) under names py::... */
static bool is_trampoline(const struct pp_jit_name *name)
{
    return name->length > 4 && memcmp(name->text, "py::", 4) == 0;
}

/* Code outside every module: what a JIT made. Directly within an eval frame's call it is perf's trampoline, which is
 * hidden; so is a trampoline that has just been entered, when there are Python frames that say more. */
static uint32_t generated_frame(struct pp_tables *tables, const struct view *view, unsigned i)
{
    uintptr_t address = view->native[i] & PP_NATIVE_ADDRESS;
    struct pp_jit_name name;
    if (i && pp_in_eval(view->native[i - 1]))
        return PP_HIDDEN_FRAME;
    bool unloaded = address == PP_UNLOADED_CODE || !pp_modules_hold_for(view->head->time);
    if (!pp_jit_code_find(address, &name))
        return pp_frame_pseudo(tables, unloaded ? PP_PSEUDO_JIT_OR_UNLOADED : PP_PSEUDO_JIT);
    if (is_trampoline(&name) && view->head->python_frames)
        return PP_HIDDEN_FRAME;
    return pp_frame_native(tables, 0, address, pp_string_id(tables, name.text, name.length), address - name.start);
}

/* One stack on its way from the root to the leaf. */
struct merge {
    struct pp_path path;
    struct pp_slot *slot;
    struct view view;
    unsigned open;             /* native frame of the run whose end was left out */
    unsigned run, frames_left; /* those not yet placed are [0, run), their frames [0, frames_left) */
    bool counted;              /* 3.8–3.10 */
    struct counted evals;
    bool unpaired;
};

static void step_next_run(struct merge *merge)
{
    unsigned count = merge->view.runs[--merge->run].frames;
    merge->frames_left -= count;
    step_run(&merge->path, merge->slot, &merge->view, merge->frames_left, count);
}

/* Whether the next run is that of the native frame. */
static bool is_run_by(const struct merge *merge, unsigned native)
{
    unsigned runs = merge->run ? merge->view.runs[merge->run - 1].native : PP_RUN_COUNTED;
    return (runs == PP_RUN_NEXT || runs == PP_RUN_CALLER ? merge->open : runs) == native;
}

/* What the native frame runs: two of them where the middle was left out of what it ran. */
static void step_runs(struct merge *merge, unsigned native)
{
    while (is_run_by(merge, native))
        step_next_run(merge);
}

/* The native frame of the run whose end was left out. */
static unsigned find_open(const struct view *view)
{
    unsigned i = 0, native = view->head->native_frames;
    for (unsigned run = 0; run < view->head->runs; run++) {
        if (view->runs[run].native != PP_RUN_NEXT && view->runs[run].native != PP_RUN_CALLER) {
            i = view->runs[run].native + 1u;
            continue;
        }
        i += view->runs[run].native == PP_RUN_CALLER;
        while (i < native && !pp_in_eval(view->native[i] & PP_NATIVE_ADDRESS))
            i++;
        if (i && i < native && view->native[i - 1] & PP_NATIVE_DEEP)
            i--;
        return i < native ? i : PP_RUN_UNPAIRED;
    }
    return PP_RUN_UNPAIRED;
}

/* Python frames further out than all that the native walk saw. */
static void step_beyond(struct merge *merge, unsigned native, bool complete)
{
    if (merge->counted) {
        merge->evals = count_evals(&merge->view, native, complete);
        merge->unpaired = !merge->evals.fits;
        merge->frames_left -= merge->evals.beyond;
        step_run(&merge->path, merge->slot, &merge->view, merge->frames_left, merge->evals.beyond);
        merge->run = 0;
    }
    while (is_run_by(merge, PP_RUN_UNPAIRED)) {
        merge->unpaired = merge->view.head->native_reason == PP_REASON_NONE;
        step_next_run(merge);
    }
}

/* Returns the native frame with which a program's or a thread's own code begins: of the first module that is not libc's
 * after those that libc starts it by. The number of frames if that is not known. */
static unsigned first_own_frame(const struct view *view)
{
    unsigned count = view->head->native_frames, i = count - 1;
    if (count < 2 || view->head->native_reason != PP_REASON_NONE)
        return count;
    const struct pp_module *libc = pp_module_find(view->native[i - 1] & PP_NATIVE_ADDRESS);
    while (i && pp_module_find(view->native[i - 1] & PP_NATIVE_ADDRESS) == libc)
        i--;
    return i ? i - 1 : count;
}

/* Adds the frames of compiled functions, which begin within the native frame `at`: which native frame runs which of
 * them is not known. */
static void step_compiled(struct merge *merge, unsigned at, unsigned native)
{
    if (merge->run && merge->view.runs[merge->run - 1].native == PP_RUN_COMPILED &&
        first_own_frame(&merge->view) == (at < native ? at : merge->view.head->native_frames))
        step_next_run(merge);
}

/* Where the native walk ended early and was taken up further out: in the middle of a deep stack, with the Python frames
 * whose eval frames are in it, or in code of a JIT, for which there are no unwind rules, or an object that handlers
 * do not know yet. The stack has a mark there, but does not count as cut: it goes on to its root, or to a reason that
 * counts. */
static void step_broken(struct merge *merge, unsigned i)
{
    uintptr_t address = merge->view.native[i] & PP_NATIVE_ADDRESS;
    bool deep = merge->view.native[i] & PP_NATIVE_DEEP, no_rule = merge->view.native[i] & PP_NATIVE_NO_RULE;
    if (deep) {
        step_mark(&merge->path, PP_REASON_NATIVE_TOO_DEEP);
        step_runs(merge, i);
        if (pp_in_eval(address))
            return;
    }
    if (!pp_module_find(address)) {
        step(&merge->path, generated_frame(merge->path.tables, &merge->view, i));
        return;
    }
    if (!deep)
        step_mark(&merge->path, no_rule ? PP_REASON_NATIVE_NO_RULE : PP_REASON_NATIVE_NO_ROWS);
    step_address(&merge->path, address);
}

/* The Python frame of the next eval frame, of the innermost one all that are left. */
static void step_counted(struct merge *merge)
{
    if (merge->evals.other) {
        merge->evals.other--;
        merge->evals.left--;
        return;
    }
    unsigned count = --merge->evals.left ? 1 : merge->frames_left;
    merge->frames_left -= count;
    step_run(&merge->path, merge->slot, &merge->view, merge->frames_left, count);
}

/* A native frame, or the Python frames that it runs. */
static void step_native(struct merge *merge, unsigned i)
{
    const struct view *view = &merge->view;
    struct pp_tables *tables = merge->path.tables;
    if (view->native[i] & PP_NATIVE_BROKEN) {
        step_broken(merge, i);
    } else if (is_run_by(merge, i)) {
        pp_eval_learn(view->native[i]);
        step_runs(merge, i);
    } else if (pp_in_eval(view->native[i])) {
        merge->unpaired |= merge->run && view->head->python_reason == PP_REASON_NONE;
        if (!merge->counted && merge->run && view->head->python_reason == PP_REASON_PYTHON_TOO_DEEP)
            step_cut(&merge->path);
        if (merge->counted && merge->frames_left)
            step_counted(merge);
    } else if (!pp_path_repeats(&merge->path, address_key(view->native[i])) && !pp_module_find(view->native[i])) {
        step(&merge->path, generated_frame(tables, view, i));
    } else {
        step_address(&merge->path, view->native[i]);
    }
}

uint32_t pp_stack_node(struct pp_tables *tables, struct pp_slot *slot, const struct pp_record_sample *sample,
                       uint64_t reasons[PP_REASON_COUNT])
{
    struct merge merge = {
        .path = pp_path_start(tables, pp_codes_changes()),
        .slot = slot,
        .view = view_of(sample),
        .run = sample->runs,
        .frames_left = sample->python_frames,
    };
    unsigned python_reason = sample->python_reason;
    bool at_greenlet = false;
    merge.counted = merge.run && is_counted(merge.view.runs[0].native);
    pp_eval_find();
    merge.open = find_open(&merge.view);
    unsigned native =
        pp_greenlet_switch(merge.view.native, sample->native_frames, python_reason == PP_REASON_PYTHON_TORN);
    if (native) {
        at_greenlet = true;
        merge.run = merge.frames_left = 0;
        merge.counted = false;
        python_reason = PP_REASON_GREENLET_SWITCH;
    } else {
        native = native_end(&merge.view, &at_greenlet);
    }
    bool in_task = merge.frames_left && sample->task_frame < sample->python_frames;
    if (!in_task && step_awaiters(&merge.path, slot, sample->contexts))
        step(&merge.path, pp_frame_pseudo(tables, PP_PSEUDO_AWAITED));
    if (in_task && runs_in_other_task(slot, &merge.view)) {
        step(&merge.path, pp_frame_pseudo(tables, PP_PSEUDO_CREATOR));
        merge.path.outside = true;
    }
    if (python_reason == PP_REASON_PYTHON_TOO_DEEP)
        reasons[python_reason]++; /* said where it is cut */
    else if (python_reason != PP_REASON_NONE)
        step_reason(&merge.path, python_reason, reasons);
    step_compiled(&merge, native, native);
    step_beyond(&merge, native, sample->native_reason == PP_REASON_NONE || at_greenlet);
    if (sample->native_reason != PP_REASON_NONE && !at_greenlet)
        step_reason(&merge.path, sample->native_reason, reasons);
    for (unsigned i = native; i-- > 0; step_compiled(&merge, i, native))
        step_native(&merge, i);
    if (merge.unpaired || merge.run)
        reasons[PP_REASON_PYTHON_UNPAIRED]++;
    if (!merge.path.node && !merge.path.failed)
        step_reason(&merge.path, PP_REASON_NATIVE_NO_MODULE, reasons);
    return merge.path.failed ? 0 : merge.path.node;
}
