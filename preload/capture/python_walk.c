/*
 * The chain of Python frames of the interrupted thread.
 *
 * The handler runs on the thread whose frames these are, so nobody else changes them; but the signal may have hit any
 * instruction, and in 3.11 and 3.12 the compiled interpreter leaves the chain inconsistent at some of them (facts:
 * cframe stored before its fields; current_frame stored before the new frame's `previous`). So each frame must lie
 * where a frame can lie, and a chain counts only if every link of it fits.
 *
 * What is loaded plainly cannot go away under us: our own C stack; the thread state that is bound to this thread (it is
 * unbound before it is freed, and we stay off while the interpreter is finalizing); the chunks of its data stack,
 * which it owns. Frames in generators lie on the heap: they are loaded plainly only when the chain cannot be torn
 * there.
 */
#include "python_walk.h"
#include "safe_read.h"

#define OWNER_THREAD     0
#define OWNER_GENERATOR  1
#define OWNER_SHIM       3 /* FRAME_OWNED_BY_CSTACK, later _BY_INTERPRETER */
#define MAX_CHUNKS       4096
#define MAX_TOTAL_FRAMES 100000 /* a chain that is longer is a loop */
#define GENERATOR_STATE  5      /* bytes before the embedded frame, all versions */
#define FRAME_COPY_MAX   128
#define THREAD_STATE_MAX 512
#define GENERATOR_COPY   (FRAME_COPY_MAX + 128)

struct chunk_header {
    uintptr_t previous;
    size_t size, top;
};

struct walk {
    const struct pp_python *python;
    const struct pp_python_layout *layout;
    int pid;
    uintptr_t sp, stack_top;
    /* the chunk of the data stack that we are in, frames [data, limit) */
    uintptr_t chunk, limit, chunk_previous;
    unsigned chunks;
};

struct frame {
    uintptr_t code, previous, instr;
    uint8_t owner;
    bool is_entry;
};

static void frame_from_copy(const struct walk *walk, const void *copy, struct frame *frame)
{
    const struct pp_python_layout *layout = walk->layout;
    frame->code = pp_word(copy, layout->frame.code);
    frame->previous = pp_word(copy, layout->frame.previous);
    frame->instr = pp_word(copy, layout->frame.instr);
    frame->owner = ((const uint8_t *)copy)[layout->frame.owner];
    frame->is_entry = layout->chain == PP_CHAIN_CFRAME_FLAG && ((const uint8_t *)copy)[layout->frame.is_entry];
}

/* Steps to the chunk below the current one. async-signal-safe. */
static bool enter_chunk(struct walk *walk, uintptr_t chunk, uintptr_t top)
{
    struct chunk_header header;
    if (!pp_plausible(chunk) || walk->chunks++ >= MAX_CHUNKS || !pp_safe_read(walk->pid, &header, chunk, sizeof header))
        return false;
    if (header.size < sizeof header || header.size > PP_HIGHEST_ADDRESS - chunk || header.size % 8)
        return false;
    walk->chunk = chunk;
    walk->chunk_previous = header.previous;
    /* `top` of a chunk counts words of data and is written when the next chunk is pushed */
    walk->limit = top ? top : chunk + sizeof header + header.top * sizeof(uintptr_t);
    return walk->limit >= chunk && walk->limit <= chunk + header.size;
}

static bool in_chunk(const struct walk *walk, uintptr_t address)
{
    return address >= walk->chunk + sizeof(struct chunk_header) && address < walk->limit &&
           walk->limit - address >= walk->layout->frame.copy_size;
}

static bool is_generator_type(const struct pp_python *python, uintptr_t type)
{
    return type == python->generator_type || type == python->coroutine_type || type == python->async_generator_type;
}

/* Reads the frame at `address`, if that is a place where a frame of this thread can be. top: the innermost frame of the
 * chain, which may just be changing hands. async-signal-safe. */
static bool read_frame(struct walk *walk, uintptr_t address, bool top, struct frame *frame)
{
    if (!pp_plausible(address))
        return false;
    unsigned size = walk->layout->frame.copy_size;
    if (address >= walk->sp && address < walk->stack_top) {
        if (walk->stack_top - address < size)
            return false;
        frame_from_copy(walk, (const void *)address, frame);
        return frame->owner == OWNER_SHIM;
    }
    if (in_chunk(walk, address)) {
        frame_from_copy(walk, (const void *)address, frame);
        return frame->owner == OWNER_THREAD || (top && frame->owner == OWNER_GENERATOR);
    }
    /* in a generator, or in an older chunk: the frame itself tells, in a copy */
    uint8_t copy[GENERATOR_COPY];
    unsigned before = walk->layout->generator.frame;
    if (!pp_safe_read(walk->pid, copy, address - before, before + size))
        return false;
    frame_from_copy(walk, copy + before, frame);
    if (frame->owner == OWNER_GENERATOR) {
        int8_t state = (int8_t)copy[before - GENERATOR_STATE];
        return is_generator_type(walk->python, pp_word(copy, walk->layout->object_type)) &&
               (top || state == walk->layout->generator.executing);
    }
    if (frame->owner != OWNER_THREAD)
        return false;
    while (enter_chunk(walk, walk->chunk_previous, 0))
        if (in_chunk(walk, address))
            return true;
    return false;
}

/* The instruction pointer of a frame points into its code object or just before it. Cheap, and no stale pair passes. */
static bool instruction_fits(const struct pp_python_layout *layout, const struct frame *frame)
{
    return pp_plausible(frame->code) && frame->instr >= frame->code + layout->code.instructions - 2 &&
           frame->instr - frame->code < (uintptr_t)1 << 27;
}

/* A _PyCFrame on our own stack or at the bottom of the thread state. */
struct cframe {
    uintptr_t frame, previous;
};

static bool read_cframe(const struct walk *walk, uintptr_t state_address, uintptr_t address, struct cframe *cframe)
{
    unsigned current = walk->layout->chain == PP_CHAIN_CFRAME_FLAG ? 8 : 0;
    const void *from = (const void *)address;
    bool on_stack =
        address >= walk->sp && address % 8 == 0 && address < walk->stack_top && walk->stack_top - address >= 32;
    if (!on_stack && address != state_address + walk->layout->thread_state.root_cframe)
        return false;
    cframe->frame = pp_word(from, current);
    cframe->previous = pp_word(from, current + 8);
    return true;
}

/* Whether pc belongs to the native eval function, or that cannot be told yet. async-signal-safe. */
static bool may_be_in_eval(uintptr_t pc)
{
    uint32_t count = atomic_load_explicit(&pp_capture.eval_range_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (pc >= pp_capture.eval_ranges[i].start && pc < pp_capture.eval_ranges[i].end)
            return true;
    return count == 0;
}

enum pp_reason pp_python_walk(const struct pp_python *python, struct pp_slot *slot,
                              const struct pp_interrupted *interrupted, struct pp_python_stack *stack)
{
    const struct pp_python_layout *layout = &python->layout;
    *stack = (struct pp_python_stack){.doubtful = may_be_in_eval(interrupted->pc)};
    uintptr_t state_address = (uintptr_t)python->this_thread_state();
    if (!state_address)
        return PP_REASON_NONE;
    uintptr_t finalizing = pp_word((const void *)python->runtime, layout->runtime.finalizing);
    if (finalizing && finalizing != state_address)
        return PP_REASON_PYTHON_FINALIZING; /* our thread state may already be freed */

    int pid = atomic_load_explicit(&pp_capture.pid, memory_order_relaxed);
    if (state_address != slot->known_thread_state) {
        uint8_t copy[THREAD_STATE_MAX];
        if (!pp_plausible(state_address) || !pp_safe_read(pid, copy, state_address, layout->thread_state.copy_size))
            return PP_REASON_PYTHON_TORN;
        slot->known_thread_state = state_address;
    }
    const void *state = (const void *)state_address;
    if (pp_word(state, layout->thread_state.thread_id) != slot->thread_pointer ||
        !pp_plausible(pp_word(state, layout->thread_state.interp)))
        return slot->check_native_id ? PP_REASON_NONE : PP_REASON_PYTHON_TORN;
    if (slot->check_native_id &&
        pp_word(state, layout->thread_state.native_thread_id) != (uintptr_t)atomic_load(&slot->tid))
        return PP_REASON_NONE;

    struct walk walk = {.python = python,
                        .layout = layout,
                        .pid = pid,
                        .sp = interrupted->sp,
                        .stack_top = atomic_load_explicit(&slot->stack_top, memory_order_relaxed)};
    uintptr_t top = pp_word(state, layout->thread_state.top);
    uintptr_t cframe_address = 0;
    struct cframe cframe = {0, 0};
    if (layout->chain != PP_CHAIN_SHIM) {
        cframe_address = top;
        if (!read_cframe(&walk, state_address, cframe_address, &cframe))
            return PP_REASON_PYTHON_TORN;
        top = cframe.frame;
        /* a cframe in the interrupted frame itself: that is an eval frame, by whatever part of the function it runs */
        if (cframe_address < interrupted->frame_end)
            stack->doubtful = true;
    }
    uintptr_t root_cframe = state_address + layout->thread_state.root_cframe;
    uintptr_t datastack = pp_word(state, layout->thread_state.datastack_chunk);
    if (datastack && !enter_chunk(&walk, datastack, pp_word(state, layout->thread_state.datastack_top)))
        return PP_REASON_PYTHON_TORN;

    uintptr_t address = top, last_marker = 0;
    uint32_t frames = 0, run_start = 0, runs = 0, total = 0;
    while (address) {
        struct frame frame;
        if (total++ >= MAX_TOTAL_FRAMES || !read_frame(&walk, address, total == 1, &frame))
            return PP_REASON_PYTHON_TORN;
        uintptr_t marker = 0;
        if (frame.owner == OWNER_SHIM) {
            marker = address;
        } else {
            if (!instruction_fits(layout, &frame))
                return PP_REASON_PYTHON_TORN;
            if (frames < PP_MAX_PYTHON_FRAMES)
                slot->scratch->python[frames] = (struct pp_python_frame){frame.code, frame.instr};
            frames++;
            if (frame.is_entry)
                marker = cframe_address;
        }
        address = frame.previous;
        if (!marker)
            continue;
        /* the frame below the run is the one at which the next outer eval call stands; below the bottom of a greenlet
         * there is none, and what its outermost cframe points to is another greenlet's */
        if (layout->chain != PP_CHAIN_SHIM && address) {
            uintptr_t inner = cframe_address;
            if (inner == root_cframe)
                return PP_REASON_PYTHON_TORN;
            cframe_address = cframe.previous;
            if ((cframe_address != root_cframe && cframe_address <= inner) ||
                !read_cframe(&walk, state_address, cframe_address, &cframe) || address != cframe.frame)
                return PP_REASON_PYTHON_TORN;
        }
        if (marker <= last_marker)
            return PP_REASON_PYTHON_TORN;
        last_marker = marker;
        if (runs < PP_MAX_RUNS) {
            slot->scratch->runs[runs].marker = marker;
            slot->scratch->runs[runs].frames =
                (frames < PP_MAX_PYTHON_FRAMES ? frames : PP_MAX_PYTHON_FRAMES) - run_start;
            run_start += slot->scratch->runs[runs].frames;
            runs++;
        }
    }
    if (total && !last_marker)
        return PP_REASON_PYTHON_TORN; /* every chain ends in an entry */
    if (frames > run_start && frames <= PP_MAX_PYTHON_FRAMES && runs < PP_MAX_RUNS)
        return PP_REASON_PYTHON_TORN; /* frames outside any run */
    stack->runs = runs;
    stack->frames = run_start;
    return frames > run_start ? PP_REASON_PYTHON_TOO_DEEP : PP_REASON_NONE;
}
