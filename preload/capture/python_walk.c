/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the chain of Python frames of the interrupted thread.
 *
 * The handler runs on the thread that owns these frames, so no other thread changes them. But the signal may have hit
 * any instruction, and in 3.11 and 3.12 the compiled interpreter leaves the chain inconsistent at some of them. So each
 * frame must be where a frame can be (python_frames.c), and a chain counts only if every link of it fits.
 *
 * There are two torn windows, both in the native eval function itself and without a call inside:
 * W1, entering it: the thread state's cframe pointer is stored before the _PyCFrame that it points to is filled.
 * W2, calling from Python to Python: the cframe's current_frame is stored before the new frame's `previous`.
 * The lost link can be recovered: in W2 the caller's frame is in a register; in W1 the next outer _PyCFrame lies in the
 * next outer native eval frame, at a constant distance from that frame's CFA. */
#include "python_walk.h"
#include "code_cache.h"
#include "python_frames.h"
#include "safe_read.h"

#define KEPT_INNER      384 /* frames kept at the innermost end of a deep stack */
#define KEPT_OUTER      (PP_MAX_PYTHON_FRAMES - KEPT_INNER - 2)
#define MIDDLE_AFTER    256 /* frames; the middle begins with the next chunk of the data stack */
#define MAX_WALKS       4   /* of maximum length, per sample */
#define CFRAME_SIZE     24
#define EVAL_ENTRY_SIZE 256 /* bytes of code; W1 ends at 0x60 in 3.11, 0xa6 in 3.12; the main loop is far beyond */

/* 3.8–3.10 pair frames by their number: no frame whose eval frame was walked may be left out. */
_Static_assert(KEPT_INNER >= PP_MAX_NATIVE_FRAMES - PP_OUTER_NATIVE, "none of them is in the middle that is left out");

/* A _PyCFrame on the C stack, or the thread state's root_cframe (3.11, 3.12). */
struct cframe {
    uintptr_t address; /* 0: the version has none */
    uintptr_t frame, previous;
};

struct walk {
    const struct pp_thread_state *state;
    struct pp_slot *slot;
    struct pp_frame_reader reader;
    uintptr_t root_cframe, base_frame, task_frame;
    /* Data stack chunk at which the middle of a deep stack begins, in all walks of the sample. */
    uintptr_t middle_chunk;
    uint32_t spent; /* steps of all walks */
};

bool pp_in_eval(uintptr_t pc)
{
    uint32_t count = atomic_load_explicit(&pp_capture.eval_range_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (pc >= pp_capture.eval_ranges[i].start && pc < pp_capture.eval_ranges[i].end)
            return true;
    return false;
}

/* async-signal-safe. */
static bool in_greenlet_code(uintptr_t pc)
{
    return pc >= atomic_load_explicit(&pp_capture.greenlet_start, memory_order_relaxed) &&
           pc < atomic_load_explicit(&pp_capture.greenlet_end, memory_order_relaxed);
}

static bool has_cframes(const struct walk *walk)
{
    return walk->root_cframe != 0;
}

/* async-signal-safe. */
static bool read_cframe(const struct walk *walk, uintptr_t address, struct cframe *cframe)
{
    const struct pp_frame_reader *reader = &walk->reader;
    unsigned current = reader->layout->cframe.current_frame, previous = reader->layout->cframe.previous;
    if (reader->other_stack && address != walk->root_cframe) {
        uintptr_t copy[CFRAME_SIZE / sizeof(uintptr_t)];
        if (!pp_plausible(address) || !pp_safe_read(reader->pid, copy, address, sizeof copy))
            return false;
        *cframe = (struct cframe){address, pp_word(copy, current), pp_word(copy, previous)};
        return true;
    }
    bool on_stack = address >= reader->sp && address % 8 == 0 && address < reader->stack_top &&
                    reader->stack_top - address >= CFRAME_SIZE;
    if (!on_stack && address != walk->root_cframe)
        return false;
    const char *from =
        on_stack ? (const char *)address : (const char *)walk->state->memory + reader->layout->thread_state.root_cframe;
    *cframe = (struct cframe){address, pp_word(from, current), pp_word(from, previous)};
    return true;
}

/* Steps to the cframe of the next outer eval call. Its current frame must be `frame`, which is below the run with this
 * marker; 0 if that run was the last. async-signal-safe. */
static bool step_cframe(const struct walk *walk, struct cframe *cframe, uintptr_t marker, uintptr_t frame)
{
    struct cframe outer;
    bool last = cframe->previous == walk->root_cframe, ordered = !walk->reader.other_stack;
    if (cframe->address == walk->root_cframe || (ordered && !last && cframe->previous <= cframe->address) ||
        !read_cframe(walk, cframe->previous, &outer) || outer.frame != frame)
        return false;
    /* marker and cframe lie in one native frame */
    if (ordered && (marker < cframe->address || (!last && marker >= cframe->previous)))
        return false;
    /* a greenlet's chain ends at a _PyCFrame of its own, which has no frame */
    if (!frame && !last && outer.previous != walk->root_cframe)
        return false;
    *cframe = outer;
    return true;
}

static void keep_frame(const struct walk *walk, struct pp_python_stack *stack, uintptr_t address,
                       const struct pp_frame *frame)
{
    if (address == walk->task_frame)
        stack->task_frame = stack->total;
    walk->slot->scratch->python[stack->total++] = (struct pp_python_frame){frame->code, frame->instr, address};
}

/* Until cut_middle, `frames` of a run includes those of the runs further in. */
static void close_run(const struct walk *walk, struct pp_python_stack *stack, uintptr_t marker)
{
    walk->slot->scratch->runs[stack->runs].marker = marker;
    walk->slot->scratch->runs[stack->runs].frames = stack->total;
    stack->runs++;
}

/* Returns the number of frames that are in a run. */
static uint32_t frames_in(const struct walk *walk, const struct pp_python_stack *stack)
{
    return stack->runs ? walk->slot->scratch->runs[stack->runs - 1].frames : 0;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Reduces a deep stack to its two ends. A cut entry at each end marks the gap, as the ends may be in two runs. A run is
 * dropped if none of its frames is kept, unless it had none: empty runs are at the leaf. async-signal-safe. */
static void cut_middle(struct pp_scratch *scratch, struct pp_python_stack *stack)
{
    uint32_t total = stack->total, from = total, to = total, start = 0, runs = stack->runs;
    bool cut = stack->gap || total > PP_MAX_PYTHON_FRAMES;
    if (cut) {
        from = smaller(stack->gap ? stack->gap : total, KEPT_INNER);
        to = larger(stack->gap, total - smaller(total, KEPT_OUTER));
        memmove(&scratch->python[from + 2], &scratch->python[to], (total - to) * sizeof scratch->python[0]);
        scratch->python[from] = scratch->python[from + 1] = (struct pp_python_frame){0, 0, 0};
    }
    stack->frames = from + cut + (to < total) + total - to;
    if (stack->task_frame != PP_NO_FRAME && stack->task_frame >= from)
        stack->task_frame = stack->task_frame < to ? from : stack->task_frame - to + from + 2;
    stack->runs = 0;
    for (uint32_t i = 0; i < runs; i++) {
        uint32_t end = scratch->runs[i].frames, inner = smaller(end, from) - smaller(start, from);
        uint32_t outer = larger(end, to) - larger(start, to);
        uint32_t kept = inner + outer + (cut && inner && end >= from) + (outer && start <= to);
        if (kept || !end) {
            scratch->runs[stack->runs].marker = scratch->runs[i].marker;
            scratch->runs[stack->runs++].frames = kept;
        }
        start = end;
    }
}

/* Ends a walk that has exceeded its budget: only the frames further in than the gap are kept. async-signal-safe. */
PP_RARE static enum pp_reason give_up(const struct walk *walk, struct pp_python_stack *stack)
{
    if (!stack->total)
        return PP_REASON_PYTHON_TORN;
    if (!stack->gap) {
        stack->gap = stack->total;
        close_run(walk, stack, 0);
    }
    while (stack->runs > 1 && walk->slot->scratch->runs[stack->runs - 2].frames >= stack->gap)
        stack->runs--;
    stack->total = stack->gap;
    stack->outermost = 0;
    return PP_REASON_PYTHON_TOO_DEEP;
}

/* Whether the middle of a deep stack begins with the frame just read; *address is then the frame at which to resume.
 * The ends of a stack depend only on its chunks, so that walks from different frames are comparable.
 * async-signal-safe. */
PP_RARE static bool skip_middle(struct walk *walk, const struct pp_python_stack *stack, bool in_new_chunk,
                                uintptr_t *address)
{
    if (!walk->middle_chunk && stack->total >= MIDDLE_AFTER)
        walk->middle_chunk = walk->reader.chunk_previous;
    return in_new_chunk && !stack->gap && walk->reader.chunk == walk->middle_chunk &&
           pp_frames_skip(&walk->reader, address);
}

/* After a skipped middle: steps to the cframe of the eval call that `frame` has made. async-signal-safe. */
PP_RARE static bool skip_cframes(struct walk *walk, struct cframe *cframe, uintptr_t frame)
{
    struct cframe outer;
    while (walk->reader.steps++ < PP_MAX_STEPS && cframe->address != walk->root_cframe &&
           read_cframe(walk, cframe->previous, &outer)) {
        if (outer.frame == frame)
            return true;
        *cframe = outer;
    }
    return false;
}

/* Walks outward from `first`. cframe: the one whose current frame is `first`. second: the frame after the first one, 0
 * to trust the first frame's own link. async-signal-safe. */
static enum pp_reason walk_chain(struct walk *walk, uintptr_t first, struct cframe cframe, uintptr_t second,
                                 struct pp_python_stack *stack)
{
    struct pp_frame_reader *reader = &walk->reader;
    uintptr_t address = first, last_marker = 0;
    bool skipped = false, compiled = true; /* all frames since the last marker */
    stack->total = stack->runs = stack->gap = 0;
    stack->outermost = 0;
    stack->task_frame = PP_NO_FRAME;
    stack->collecting = stack->compiled = false;
    walk->spent += reader->steps;
    if (!pp_frames_begin(reader, walk->state->memory))
        return PP_REASON_PYTHON_TORN;
    while (address && address != walk->base_frame) {
        struct pp_frame frame;
        unsigned chunks = reader->chunks;
        bool innermost = !reader->steps;
        if (reader->steps >= PP_MAX_STEPS || !pp_frame_read(reader, address, innermost, &frame))
            return reader->steps >= PP_MAX_STEPS ? give_up(walk, stack) : PP_REASON_PYTHON_TORN;
        if ((stack->total >= MIDDLE_AFTER || walk->middle_chunk) &&
            skip_middle(walk, stack, reader->chunks != chunks, &address)) {
            stack->gap = stack->total;
            close_run(walk, stack, 0);
            skipped = true;
            continue;
        }
        if (innermost && second)
            reader->links_proven = false; /* it is not by its own link that the walk goes on */
        stack->collecting |= address == walk->state->collecting_frame;
        bool ends_run = frame.is_shim || frame.is_entry;
        uintptr_t marker = address;
        if (!frame.is_shim) {
            pp_code_fetch(walk->state->python, walk->slot, frame.code);
            keep_frame(walk, stack, address, &frame);
            stack->outermost = address;
            compiled &= frame.is_compiled;
        }
        address = innermost && second ? second : frame.previous;
        if (!ends_run)
            continue;
        if (skipped && has_cframes(walk) && !skip_cframes(walk, &cframe, address))
            return give_up(walk, stack);
        skipped = false;
        if (!frame.is_shim)
            marker = cframe.address;
        /* the frame below the run is the current frame of the next outer eval call */
        if (has_cframes(walk) && !step_cframe(walk, &cframe, marker, address)) {
            /* in 3.11 throw() links the generators that it passes through, but no eval call runs their frames */
            if (!frame.in_generator)
                return PP_REASON_PYTHON_TORN;
            continue;
        }
        if (marker <= last_marker && !reader->other_stack)
            return PP_REASON_PYTHON_TORN;
        last_marker = marker;
        compiled = true;
        close_run(walk, stack, marker);
    }
    stack->compiled = compiled && frames_in(walk, stack) < stack->total &&
                      (!has_cframes(walk) || cframe.address == walk->root_cframe);
    if (stack->compiled) {
        close_run(walk, stack, 0);
        last_marker = walk->reader.stack_top;
    }
    if ((reader->steps && !last_marker) || stack->total != frames_in(walk, stack))
        return PP_REASON_PYTHON_TORN; /* every chain ends with an entry, and every frame is in a run */
    return stack->gap || stack->total > PP_MAX_PYTHON_FRAMES ? PP_REASON_PYTHON_TOO_DEEP : PP_REASON_NONE;
}

/* Walks frame objects (3.8–3.10). async-signal-safe. */
static enum pp_reason walk_objects(struct walk *walk, uintptr_t first, struct pp_python_stack *stack)
{
    uintptr_t main = pp_word((const void *)walk->state->python->runtime, walk->reader.layout->runtime.main_interpreter);
    stack->counted = true;
    stack->subinterpreter = pp_word(walk->state->memory, walk->reader.layout->thread_state.interp) != main;
    for (uintptr_t address = first; address;) {
        struct pp_frame frame;
        if (stack->total == PP_MAX_STEPS) {
            stack->gap = stack->total;
            stack->outermost = 0;
            break;
        }
        if (!pp_frame_read(&walk->reader, address, stack->total == 0, &frame))
            return PP_REASON_PYTHON_TORN;
        pp_code_fetch(walk->state->python, walk->slot, frame.code);
        keep_frame(walk, stack, address, &frame);
        stack->outermost = address;
        /* frames of a recursion are mostly evenly spaced; without this each step waits for a cache miss */
        uintptr_t ahead = address + PP_FRAMES_FETCHED_AHEAD * (frame.previous - address);
        __builtin_prefetch((const void *)ahead);
        __builtin_prefetch((const void *)(ahead + walk->reader.layout->frame.instr));
        address = frame.previous;
    }
    if (stack->total)
        close_run(walk, stack, 0);
    return stack->gap || stack->total > PP_MAX_PYTHON_FRAMES ? PP_REASON_PYTHON_TOO_DEEP : PP_REASON_NONE;
}

static bool is_whole(enum pp_reason reason)
{
    return reason == PP_REASON_NONE || reason == PP_REASON_PYTHON_TOO_DEEP;
}

/* Whether the signal hit the eval function's first instructions, which make its C frame and link its first Python
 * frame. async-signal-safe. */
static bool is_entering(const struct walk *walk, const struct pp_interrupted *interrupted)
{
    return interrupted->pc - walk->state->python->eval_function < EVAL_ENTRY_SIZE;
}

/* W2: the first frame is good and its caller's frame is in a register. If several registers make a chain, the innermost
 * of those frames is the caller, and gives the longest chain. `total`: length of the chain as it is linked, if that is
 * valid; the stale link may skip frames of the run. async-signal-safe. */
PP_RARE static enum pp_reason recover_call(struct walk *walk, const struct cframe *cframe,
                                           const struct pp_interrupted *interrupted, uint32_t total,
                                           struct pp_python_stack *stack)
{
    uintptr_t best = 0;
    stack->changing = true;
    for (unsigned i = 0; i < PP_REG_COUNT; i++) {
        uintptr_t candidate = pp_context_word(interrupted->registers, i);
        if (walk->spent > MAX_WALKS * PP_MAX_STEPS)
            return PP_REASON_PYTHON_TORN;
        if (!pp_plausible(candidate) || candidate == cframe->frame || candidate == best ||
            !is_whole(walk_chain(walk, cframe->frame, *cframe, candidate, stack)) || stack->total <= total)
            continue;
        best = candidate;
        total = stack->total;
    }
    return best || total ? walk_chain(walk, cframe->frame, *cframe, best, stack) : PP_REASON_PYTHON_TORN;
}

/* W1: this eval call has no frame yet, and the next outer eval call is still where it was. async-signal-safe. */
PP_RARE static enum pp_reason recover_entry(struct walk *walk, const struct pp_interrupted *interrupted,
                                            struct pp_python_stack *stack)
{
    const struct pp_scratch *scratch = walk->slot->scratch;
    uint32_t distance =
        atomic_load_explicit(&pp_capture.eval[walk->state->python->index].cframe_to_end, memory_order_relaxed);
    struct cframe cframe;
    stack->changing = true;
    for (unsigned i = 1; i < interrupted->native_frames; i++) {
        if (in_greenlet_code(scratch->native[i].ip))
            return PP_REASON_PYTHON_TORN; /* frames further out are other greenlets' */
        if (!pp_in_eval(scratch->native[i].ip))
            continue;
        if (!distance || !read_cframe(walk, scratch->native[i].cfa - distance, &cframe))
            return PP_REASON_PYTHON_TORN;
        return walk_chain(walk, cframe.frame, cframe, 0, stack);
    }
    /* the outermost eval call is just being entered; a native walk that ended early proves nothing */
    stack->runs = stack->total = stack->gap = 0;
    return interrupted->native_complete ? PP_REASON_NONE : PP_REASON_PYTHON_TORN;
}

/* Learns the distance from a cframe to the CFA of its native eval frame, constant in one build. async-signal-safe. */
static void learn_distance(const struct walk *walk, uintptr_t cframe, const struct pp_interrupted *interrupted)
{
    _Atomic uint32_t *distance = &pp_capture.eval[walk->state->python->index].cframe_to_end;
    if (atomic_load_explicit(distance, memory_order_relaxed))
        return;
    const struct pp_native_frame *native = walk->slot->scratch->native;
    for (unsigned i = 0; i < interrupted->native_frames && native[i].cfa <= cframe; i++)
        if (i + 1 < interrupted->native_frames && cframe < native[i + 1].cfa && pp_in_eval(native[i + 1].ip))
            atomic_store_explicit(distance, (uint32_t)(native[i + 1].cfa - cframe), memory_order_relaxed);
}

/* Whether the innermost frame has executed nothing: it may be in the middle of being linked. */
static bool has_not_begun(const struct walk *walk)
{
    const struct pp_python_frame *frame = &walk->slot->scratch->python[0];
    const struct pp_python_layout *layout = walk->reader.layout;
    return frame->instr == frame->code + layout->code.instructions - layout->frame.instr_behind;
}

static enum pp_reason walk_cframes(struct walk *walk, uintptr_t top, const struct pp_interrupted *interrupted,
                                   struct pp_python_stack *stack)
{
    const struct pp_native_frame *native = walk->slot->scratch->native;
    struct cframe cframe;
    if (!read_cframe(walk, top, &cframe))
        return PP_REASON_PYTHON_TORN;
    /* a cframe in the interrupted frame makes that an eval frame, whichever part of the function it runs */
    bool inside = interrupted->native_frames && top < native[0].cfa;
    stack->doubtful |= inside;
    inside &= pp_in_eval(interrupted->pc);
    /* a cframe without a frame is in W1: what is yet to be stored was zero by chance */
    enum pp_reason reason = PP_REASON_PYTHON_TORN;
    if (cframe.frame || !inside)
        reason = walk_chain(walk, cframe.frame, cframe, 0, stack);
    if (is_whole(reason)) {
        learn_distance(walk, top, interrupted);
        return inside && has_not_begun(walk) ? recover_call(walk, &cframe, interrupted, stack->total, stack) : reason;
    }
    if (!inside)
        return reason;
    if (!is_entering(walk, interrupted))
        return recover_call(walk, &cframe, interrupted, 0, stack);
    return recover_entry(walk, interrupted, stack);
}

enum pp_reason pp_python_walk(const struct pp_thread_state *state, struct pp_slot *slot,
                              const struct pp_interrupted *interrupted, struct pp_python_stack *stack)
{
    const struct pp_python_layout *layout = &state->python->layout;
    const void *thread_state = state->memory;
    struct walk walk = {
        .state = state,
        .slot = slot,
        .reader = {.python = state->python,
                   .layout = layout,
                   .live = state->attached && !layout->free_threaded ? interrupted->task_frame : 0,
                   .attached = state->attached,
                   .window = slot->scratch->frames_window,
                   .pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed),
                   .sp = interrupted->sp,
                   .other_stack = interrupted->other_stack,
                   .stack_top = atomic_load_explicit(&slot->thread.stack_top, memory_order_relaxed)},
        .task_frame = interrupted->task_frame,
        .root_cframe = layout->thread_state.root_cframe ? state->address + layout->thread_state.root_cframe : 0,
    };
    if (layout->thread_state.base_frame)
        walk.base_frame = pp_word(thread_state, layout->thread_state.base_frame);
    *stack = (struct pp_python_stack){
        .doubtful = pp_in_eval(interrupted->pc) || !pp_in_eval(state->python->eval_function),
        .task_frame = PP_NO_FRAME,
    };
    if (is_entering(&walk, interrupted) && interrupted->native_frames)
        walk.reader.entered_end = slot->scratch->native[0].cfa;
    uintptr_t top = pp_word(thread_state, layout->thread_state.top);
    enum pp_reason reason;
    switch (layout->chain) {
    case PP_CHAIN_OBJECTS:
        reason = walk_objects(&walk, top, stack);
        break;
    case PP_CHAIN_SHIM:
        reason = walk_chain(&walk, top, (struct cframe){0, 0, 0}, 0, stack);
        break;
    default:
        reason = walk_cframes(&walk, top, interrupted, stack);
    }
    stack->entering = is_entering(&walk, interrupted);
    stack->changing |= stack->entering || (stack->total && has_not_begun(&walk));
    cut_middle(slot->scratch, stack);
    return reason;
}
