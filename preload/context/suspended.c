/* SPDX-License-Identifier: Apache-2.0 */
#include "suspended.h"
#include "../base/hash.h"
#include "../capture/code_cache.h"
#include "../capture/python_frames.h"
#include "coroutine.h"
#include "names.h"
#include "values.h"

#define WRAPPERS_MAX 2    /* awaitables around a generator: anext() with a default has two */
#define STACK_MAX    1024 /* words */
#define OUTER_FRAMES 24   /* that are kept of more than PP_MAX_AWAITING */

/* Reads the code unit that is next in a suspended frame. async-signal-safe. */
static bool read_next_unit(const struct pp_object_reader *reader, uintptr_t frame, uint8_t unit[2])
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t code, at;
    int32_t last;
    if (!layout->code.bytecode)
        return pp_object_word(reader, frame + layout->frame.instr, &at) &&
               pp_object_copy(reader, unit, at + layout->frame.instr_behind, 2);
    return pp_object_copy(reader, &last, frame + layout->frame.instr, sizeof last) && last >= 0 &&
           pp_object_word(reader, frame + layout->frame.code, &code) &&
           pp_object_word(reader, code + layout->code.bytecode, &at) &&
           pp_object_copy(
               reader, unit,
               at + layout->bytes.data + (uint32_t)last * layout->frame.lasti_bytes + layout->frame.instr_behind, 2);
}

/* Returns whether the frame is suspended, and whether that is in an await. async-signal-safe. */
static bool read_state(const struct pp_object_reader *reader, uintptr_t frame, bool *awaits)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    int8_t state;
    uint8_t next[2];
    if (layout->generator.gi_frame_state) {
        uintptr_t generator = frame - layout->generator.frame;
        if (!pp_object_copy(reader, &state, generator + layout->generator.gi_frame_state, sizeof state))
            return false;
        bool told = layout->generator.frame_suspended_yield_from != 0;
        *awaits = told && state == layout->generator.frame_suspended_yield_from;
        if (*awaits || state != layout->generator.frame_suspended || told)
            return *awaits || state == layout->generator.frame_suspended;
    }
    if (!read_next_unit(reader, frame, next))
        return false;
    uint8_t bits = next[layout->awaits.byte] & layout->awaits.mask;
    *awaits = bits >= layout->awaits.first && bits <= layout->awaits.last;
    return true;
}

/* Finds where the value stack of a suspended frame ends, 0: it is empty; false if the frame runs (3.8 to 3.10).
 * async-signal-safe. */
static bool find_stack_top(const struct pp_object_reader *reader, uintptr_t frame, uintptr_t *top)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uint32_t depth;
    if (layout->frame.stackpointer)
        return pp_object_word(reader, frame + layout->frame.stackpointer, top) && *top;
    *top = frame + layout->frame.locals;
    if ((layout->frame.valuestack && !pp_object_word(reader, frame + layout->frame.valuestack, top)) ||
        !pp_object_copy(reader, &depth, frame + layout->frame.stacktop, sizeof depth))
        return false;
    *top = depth ? *top + depth * sizeof *top : 0;
    return depth <= STACK_MAX;
}

/* Returns whether the frame is suspended. *awaited: the object that it awaits; 0: none, since it has yielded something:
 * what its stack has then may be no object. async-signal-safe. */
static bool read_suspended(const struct pp_object_reader *reader, uintptr_t frame, uintptr_t *awaited)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    bool awaits;
    uintptr_t top;
    *awaited = 0;
    if (!find_stack_top(reader, frame, &top) || !read_state(reader, frame, &awaits))
        return false;
    if (awaits && top && pp_object_word(reader, top - layout->frame.awaited * sizeof top, awaited))
        *awaited &= ~(uintptr_t)layout->code_tag;
    return true;
}

/* Whether the first field of objects of the type is what they await on a coroutine's behalf. async-signal-safe. */
static bool is_wrapper(const struct pp_context_reader *reader, uintptr_t type)
{
    static const char *const names[] = {"async_generator_asend", "async_generator_athrow", "coroutine_wrapper",
                                        "anext_awaitable"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (pp_type_is_pythons(&reader->objects, type, names[i]))
            return true;
    return false;
}

/* Reads what an awaitable awaits on a coroutine's behalf. async-signal-safe. */
static bool read_wrapped(const struct pp_context_reader *reader, uintptr_t awaited, uintptr_t *wrapped)
{
    const struct pp_object_reader *objects = &reader->objects;
    uintptr_t *no_wrapper = &reader->slot->thread.learnt.no_wrapper, type;
    if (!pp_object_type(objects, awaited, &type))
        return false;
    /* contrib/python/libpyprof has a wrapper as well */
    if (reader->facts && type == reader->facts->counted_steps.type)
        return pp_member_read(objects, awaited, &reader->facts->counted_steps, wrapped);
    if (type == *no_wrapper)
        return false;
    if (is_wrapper(reader, type))
        return pp_object_word(objects, awaited + objects->python->layout.object.wrapped, wrapped);
    *no_wrapper = type;
    return false;
}

/* Returns the frame of what an awaitable of another type awaits on a coroutine's behalf; 0: none. async-signal-safe. */
static uintptr_t wrapped_frame(const struct pp_context_reader *reader, uintptr_t awaited)
{
    const struct pp_object_reader *objects = &reader->objects;
    uintptr_t type, frame;
    for (unsigned depth = 0; depth < WRAPPERS_MAX; depth++) {
        if (!read_wrapped(reader, awaited, &awaited) || !pp_object_type(objects, awaited, &type))
            return 0;
        frame = type == objects->python->async_generator_type ? pp_generator_frame(objects, awaited)
                                                              : pp_coroutine_frame(objects, awaited);
        if (frame)
            return frame;
    }
    return 0;
}

void pp_suspended_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_member *counted_steps)
{
    uintptr_t steps;
    if (pp_name_find(reader, modules[PP_MODULE_REQUESTS], "pyprof_steps", &steps))
        pp_member_find(reader, steps, "coroutine", counted_steps);
}

bool pp_suspended_step(const struct pp_context_reader *reader, uintptr_t frame, uintptr_t *next)
{
    uintptr_t awaited;
    if (!read_suspended(&reader->objects, frame, &awaited))
        return false;
    *next = awaited ? pp_coroutine_frame(&reader->objects, awaited) : 0;
    if (awaited && !*next)
        *next = wrapped_frame(reader, awaited);
    return true;
}

/* Has it noticed when the frame comes to await something else, or the code's address to be another code's.
 * async-signal-safe. */
static void watch(const struct pp_object_reader *reader, uintptr_t address, const struct pp_frame *frame)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uint32_t half;
    uintptr_t word;
    pp_object_word(reader, address + layout->frame.code, &word);
    pp_object_copy(reader, &half, address + layout->frame.instr, sizeof half);
    pp_object_copy(reader, &half, frame->code + layout->code.first_line, sizeof half);
    if (layout->unique_version) {
        pp_object_copy(reader, &half, frame->code + layout->code.version, sizeof half);
        return;
    }
    pp_object_word(reader, frame->code + layout->code.qualname, &word);
    pp_object_word(reader, frame->code + layout->code.line_table, &word);
}

/* Reads a frame in which a coroutine is suspended, as a whole: only watched words are recorded. async-signal-safe. */
static bool read_frame(const struct pp_object_reader *reader, uintptr_t address, struct pp_frame *frame)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    const struct pp_frame_reader frames = {.python = reader->python, .layout = layout, .pid = reader->pid};
    struct pp_object_reader unrecorded = *reader;
    uint8_t bytes[PP_FRAME_COPY_MAX];
    unrecorded.set = NULL;
    if (!pp_object_copy(&unrecorded, bytes, address, layout->frame.copy_size) ||
        !pp_frame_parse(&frames, bytes, frame) || frame->is_shim)
        return false;
    if (reader->set)
        watch(reader, address, frame);
    return true;
}

bool pp_suspended_read(const struct pp_context_reader *reader, uintptr_t task, struct pp_context *context)
{
    const struct pp_object_reader *objects = &reader->objects;
    struct pp_slot *slot = reader->slot;
    struct pp_python_frame *awaiting = slot->scratch->awaiting;
    struct pp_record_frame *resolved = slot->scratch->awaiting_resolved;
    uintptr_t address = pp_task_frame(reader, task), *addresses = slot->scratch->suspended, next;
    uint32_t count = 0, kept = 0;
    bool cut = false;
    for (; address && count < PP_MAX_SUSPENDED && pp_suspended_step(reader, address, &next); address = next)
        addresses[count++] = address;
    /* Where the innermost frames are not known the outermost ones are kept. */
    uint32_t outer = address && count == PP_MAX_SUSPENDED ? PP_MAX_AWAITING - 1 : OUTER_FRAMES;
    for (uint32_t i = 0; i < count; i++) {
        struct pp_frame frame;
        if (count > PP_MAX_AWAITING && i == outer) {
            i = count - (PP_MAX_AWAITING - 1 - outer);
            cut = true;
            if (i == count)
                break;
        }
        if (!read_frame(objects, addresses[i], &frame))
            break;
        awaiting[kept++] = (struct pp_python_frame){frame.code, frame.instr, addresses[i]};
    }
    if (!pp_code_resolve_more(objects, slot, awaiting, kept, resolved))
        return false;
    if (cut) {
        memmove(&resolved[outer + 1], &resolved[outer], (kept++ - outer) * sizeof *resolved);
        resolved[outer] = (struct pp_record_frame){PP_ENTRY_CUT, 0};
    }
    context->frames = kept;
    context->frames_digest = slot->code_epoch + 1;
    for (uint32_t i = 0; i < kept; i++) {
        uint64_t words[] = {context->frames_digest, (uint32_t)resolved[i].unit,
                            resolved[i].entry == PP_ENTRY_CUT ? 0 : slot->codes[resolved[i].entry].digest};
        context->frames_digest = pp_hash(words, sizeof words);
    }
    return true;
}
