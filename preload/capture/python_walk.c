/*
 * The chain of Python frames of the interrupted thread.
 *
 * The handler runs on the thread whose frames these are, so nobody else changes them; but the signal may have hit any
 * instruction, and in 3.11 and 3.12 the compiled interpreter leaves the chain inconsistent at some of them. So each
 * frame must lie where a frame can lie (python_frames.c), and a chain counts only if every link of it fits.
 *
 * The two torn windows, both in the native eval function itself and without a call inside:
 * W1, entering it: the thread state's cframe pointer is stored before the _PyCFrame that it points to is filled.
 * W2, calling from Python to Python: the cframe's current_frame is stored before the new frame's `previous`.
 * What the window has destroyed is still elsewhere: in W2 the caller's frame is in a register; in W1 the next outer
 * _PyCFrame lies in the next outer native eval frame, always equally far from that frame's end.
 */
#include "python_walk.h"
#include "code_cache.h"
#include "python_frames.h"
#include "safe_read.h"

#define MAX_TOTAL_FRAMES 100000 /* a chain that is longer is a loop */
#define MAX_COPIED       4096   /* the same where each costs system calls */
#define CFRAME_SIZE      24
#define EVAL_ENTRY_SIZE  256 /* bytes of code; W1 ends at 0x60 in 3.11, 0xa6 in 3.12; the main loop is far behind */

/* A _PyCFrame on our own stack or at the bottom of the thread state (3.11, 3.12). */
struct cframe {
    uintptr_t address; /* 0: the version has none */
    uintptr_t frame, previous;
};

struct walk {
    const struct pp_thread_state *state;
    struct pp_slot *slot;
    struct pp_frame_reader reader;
    uintptr_t root_cframe, base_frame;
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
    unsigned current = reader->layout->chain == PP_CHAIN_CFRAME_FLAG ? 8 : 0;
    if (reader->other_stack && address != walk->root_cframe) {
        uintptr_t copy[CFRAME_SIZE / sizeof(uintptr_t)];
        if (!pp_plausible(address) || !pp_safe_read(reader->pid, copy, address, sizeof copy))
            return false;
        *cframe = (struct cframe){address, pp_word(copy, current), pp_word(copy, current + 8)};
        return true;
    }
    bool on_stack = address >= reader->sp && address % 8 == 0 && address < reader->stack_top &&
                    reader->stack_top - address >= CFRAME_SIZE;
    if (!on_stack && address != walk->root_cframe)
        return false;
    cframe->address = address;
    cframe->frame = pp_word((const void *)address, current);
    cframe->previous = pp_word((const void *)address, current + 8);
    return true;
}

/* Steps to the cframe of the next outer eval call, at which `frame` must stand: the one below the run whose marker is
 * given, 0 if it was the last. async-signal-safe. */
static bool leave_cframe(const struct walk *walk, struct cframe *cframe, uintptr_t marker, uintptr_t frame)
{
    struct cframe outer;
    bool last = cframe->previous == walk->root_cframe, ordered = !walk->reader.other_stack;
    if (cframe->address == walk->root_cframe || (ordered && !last && cframe->previous <= cframe->address) ||
        !read_cframe(walk, cframe->previous, &outer) || outer.frame != frame)
        return false;
    /* both lie in the same native frame */
    if (ordered && (marker < cframe->address || (!last && marker >= cframe->previous)))
        return false;
    /* a greenlet's chain ends at a _PyCFrame of its own, which names no frame */
    if (!frame && !last && outer.previous != walk->root_cframe)
        return false;
    *cframe = outer;
    return true;
}

/* The frames of one walk as they are kept: of too many, the middle is left out. async-signal-safe. */
struct keeper {
    struct pp_scratch *scratch;
    uint32_t seen, kept, in_run;
    uint32_t cut_from, cut_to; /* frames [cut_from, cut_to) are left out */
};

static void keep_frame(struct keeper *keeper, const struct pp_frame *frame)
{
    uint32_t number = keeper->seen++;
    struct pp_python_frame *kept = &keeper->scratch->python[keeper->kept];
    if (number > keeper->cut_from && number < keeper->cut_to)
        return;
    if (keeper->kept == PP_MAX_PYTHON_FRAMES)
        return;
    if (number == keeper->cut_from && number < keeper->cut_to)
        *kept = (struct pp_python_frame){0, keeper->cut_to - keeper->cut_from};
    else
        *kept = (struct pp_python_frame){frame->code, frame->instr};
    keeper->kept++;
    keeper->in_run++;
}

/* A run of which nothing is kept is none, unless it has no frames at all: those stand at the leaf. */
static void close_run(struct keeper *keeper, struct pp_python_stack *stack, uintptr_t marker)
{
    bool cut = keeper->seen > keeper->cut_from && keeper->cut_to > keeper->cut_from;
    if ((cut && !keeper->in_run) || stack->runs == PP_MAX_RUNS)
        return;
    keeper->scratch->runs[stack->runs].marker = marker;
    keeper->scratch->runs[stack->runs].frames = keeper->in_run;
    stack->runs++;
    keeper->in_run = 0;
    stack->frames = keeper->kept;
}

/* async-signal-safe; what a walk in full keeps, or a second one after as many frames were seen. */
static struct keeper new_keeper(struct pp_scratch *scratch, uint32_t total)
{
    struct keeper keeper = {.scratch = scratch, .cut_from = UINT32_MAX};
    if (total > PP_MAX_PYTHON_FRAMES) {
        keeper.cut_from = PP_MAX_PYTHON_FRAMES / 2;
        keeper.cut_to = total - (PP_MAX_PYTHON_FRAMES - keeper.cut_from - 1);
    }
    return keeper;
}

/* Walks from `first` outward. cframe: the one that stands at `first`. second: the frame after the first one, 0 to
 * believe the first one's own link. async-signal-safe. */
static enum pp_reason walk_once(struct walk *walk, uintptr_t first, struct cframe cframe, uintptr_t second,
                                struct keeper *keeper, struct pp_python_stack *stack)
{
    uintptr_t address = first, last_marker = 0;
    uint32_t total = 0;
    stack->frames = stack->runs = stack->total = 0;
    stack->collecting = false;
    if (!pp_frames_begin(&walk->reader, (const void *)walk->state->address, walk->state->attached))
        return PP_REASON_PYTHON_TORN;
    while (address && address != walk->base_frame) {
        struct pp_frame frame;
        if (total++ >= (walk->reader.other_stack ? MAX_COPIED : MAX_TOTAL_FRAMES) ||
            !pp_frame_read(&walk->reader, address, total == 1, &frame))
            return PP_REASON_PYTHON_TORN;
        stack->collecting |= address == walk->state->collecting_frame;
        uintptr_t marker = 0;
        if (frame.is_shim) {
            marker = address;
        } else {
            pp_code_fetch(walk->state->python, walk->slot, frame.code);
            keep_frame(keeper, &frame);
            if (frame.is_entry)
                marker = cframe.address;
        }
        address = total == 1 && second ? second : frame.previous;
        if (!marker)
            continue;
        /* the frame below the run is the one at which the next outer eval call stands */
        if ((has_cframes(walk) && !leave_cframe(walk, &cframe, marker, address)) ||
            (marker <= last_marker && !walk->reader.other_stack))
            return PP_REASON_PYTHON_TORN;
        last_marker = marker;
        close_run(keeper, stack, marker);
    }
    stack->total = keeper->seen;
    if ((total && !last_marker) || keeper->in_run)
        return PP_REASON_PYTHON_TORN; /* every chain ends in an entry, and every frame is in a run */
    return PP_REASON_NONE;
}

/* The same; a chain with too many frames is walked once more, to keep both its ends. */
static enum pp_reason walk_chain(struct walk *walk, uintptr_t first, struct cframe cframe, uintptr_t second,
                                 struct pp_python_stack *stack)
{
    struct keeper keeper = new_keeper(walk->slot->scratch, 0);
    enum pp_reason reason = walk_once(walk, first, cframe, second, &keeper, stack);
    if (reason != PP_REASON_NONE || stack->total <= PP_MAX_PYTHON_FRAMES)
        return reason;
    keeper = new_keeper(walk->slot->scratch, stack->total);
    reason = walk_once(walk, first, cframe, second, &keeper, stack);
    return reason == PP_REASON_NONE ? PP_REASON_PYTHON_TOO_DEEP : reason;
}

/* 3.8–3.10. async-signal-safe. */
static bool walk_objects_once(struct walk *walk, uintptr_t first, struct keeper *keeper)
{
    for (uintptr_t address = first; address;) {
        struct pp_frame frame;
        if (keeper->seen >= MAX_TOTAL_FRAMES || !pp_frame_read(&walk->reader, address, keeper->seen == 0, &frame))
            return false;
        pp_code_fetch(walk->state->python, walk->slot, frame.code);
        keep_frame(keeper, &frame);
        address = frame.previous;
    }
    return true;
}

static enum pp_reason walk_objects(struct walk *walk, uintptr_t first, struct pp_python_stack *stack)
{
    struct keeper keeper = new_keeper(walk->slot->scratch, 0);
    if (!walk_objects_once(walk, first, &keeper))
        return PP_REASON_PYTHON_TORN;
    bool too_deep = keeper.seen > PP_MAX_PYTHON_FRAMES;
    if (too_deep) {
        keeper = new_keeper(walk->slot->scratch, keeper.seen);
        if (!walk_objects_once(walk, first, &keeper))
            return PP_REASON_PYTHON_TORN;
    }
    stack->total = keeper.seen;
    stack->counted = true;
    if (keeper.kept)
        close_run(&keeper, stack, 0);
    return too_deep ? PP_REASON_PYTHON_TOO_DEEP : PP_REASON_NONE;
}

static bool is_whole(enum pp_reason reason)
{
    return reason == PP_REASON_NONE || reason == PP_REASON_PYTHON_TOO_DEEP;
}

/* The eval function's first instructions, in which it makes its C frame and links what it is to execute.
 * async-signal-safe. */
static bool is_entering(const struct walk *walk, const struct pp_interrupted *interrupted)
{
    return interrupted->pc - walk->state->python->eval_function < EVAL_ENTRY_SIZE;
}

/* W2: the first frame is good and its caller's is in a register. Of several that make a chain the innermost is it: the
 * others are its callers. `total`: frames of the chain as it is linked, if that is one; the stale link may skip frames
 * of the same run. async-signal-safe. */
static enum pp_reason recover_call(struct walk *walk, const struct cframe *cframe,
                                   const struct pp_interrupted *interrupted, uint32_t total,
                                   struct pp_python_stack *stack)
{
    uintptr_t best = 0;
    stack->changing = true;
    for (unsigned i = 0; i < interrupted->register_count; i++) {
        uintptr_t candidate = (uintptr_t)interrupted->registers[i];
        if (!pp_plausible(candidate) || candidate == cframe->frame || candidate == best ||
            !is_whole(walk_chain(walk, cframe->frame, *cframe, candidate, stack)) || stack->total <= total)
            continue;
        best = candidate;
        total = stack->total;
    }
    return best || total ? walk_chain(walk, cframe->frame, *cframe, best, stack) : PP_REASON_PYTHON_TORN;
}

/* W1: this eval call has no frame yet, the next outer one stands where it stood. async-signal-safe. */
static enum pp_reason recover_entry(struct walk *walk, const struct pp_interrupted *interrupted,
                                    struct pp_python_stack *stack)
{
    const struct pp_scratch *scratch = walk->slot->scratch;
    uint32_t distance =
        atomic_load_explicit(&pp_capture.eval[walk->state->python->index].cframe_to_end, memory_order_relaxed);
    struct cframe cframe;
    stack->changing = true;
    for (unsigned i = 1; i < interrupted->native_frames; i++) {
        if (in_greenlet_code(scratch->native[i].ip))
            return PP_REASON_PYTHON_TORN; /* further out are other greenlets' frames */
        if (!pp_in_eval(scratch->native[i].ip))
            continue;
        if (!distance || !read_cframe(walk, scratch->native[i].cfa - distance, &cframe))
            return PP_REASON_PYTHON_TORN;
        return walk_chain(walk, cframe.frame, cframe, 0, stack);
    }
    /* the outermost eval call is just being entered; a native walk that ended early proves nothing */
    stack->frames = stack->runs = stack->total = 0;
    return interrupted->native_complete ? PP_REASON_NONE : PP_REASON_PYTHON_TORN;
}

/* The distance from a cframe to the end of its native eval frame is the same in all of one build. async-signal-safe. */
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

/* Whether the innermost frame has not executed anything: it may just be being linked. */
static bool has_not_begun(const struct walk *walk)
{
    const struct pp_python_frame *frame = &walk->slot->scratch->python[0];
    /* since 3.13 a frame names the instruction that comes next; before, the last one */
    unsigned before = walk->reader.layout->minor < 13 ? 2 : 0;
    return frame->instr == frame->code + walk->reader.layout->code.instructions - before;
}

static enum pp_reason walk_cframes(struct walk *walk, uintptr_t top, const struct pp_interrupted *interrupted,
                                   struct pp_python_stack *stack)
{
    const struct pp_native_frame *native = walk->slot->scratch->native;
    struct cframe cframe;
    if (!read_cframe(walk, top, &cframe))
        return PP_REASON_PYTHON_TORN;
    /* a cframe in the interrupted frame itself: that is an eval frame, by whatever part of the function it runs */
    bool inside = interrupted->native_frames && top < native[0].cfa;
    stack->doubtful |= inside;
    inside &= pp_in_eval(interrupted->pc);
    /* an eval call without a frame is in W1: what it will fill was zero by chance */
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
    const void *thread_state = (const void *)state->address;
    struct walk walk = {
        .state = state,
        .slot = slot,
        .reader = {.python = state->python,
                   .layout = layout,
                   .pid = atomic_load_explicit(&pp_capture.pid, memory_order_relaxed),
                   .sp = interrupted->sp,
                   .other_stack = interrupted->other_stack,
                   .stack_top = atomic_load_explicit(&slot->stack_top, memory_order_relaxed)},
        .root_cframe = layout->thread_state.root_cframe ? state->address + layout->thread_state.root_cframe : 0,
    };
    if (layout->thread_state.base_frame)
        walk.base_frame = pp_word(thread_state, layout->thread_state.base_frame);
    *stack = (struct pp_python_stack){
        .doubtful = pp_in_eval(interrupted->pc) || !pp_in_eval(state->python->eval_function),
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
    stack->changing |= is_entering(&walk, interrupted) || (stack->frames && has_not_begun(&walk));
    return reason;
}
