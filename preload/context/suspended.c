/* SPDX-License-Identifier: Apache-2.0 */
#include "suspended.h"
#include "../base/hash.h"
#include "../capture/code_cache.h"
#include "../capture/python_frames.h"
#include "tasks.h"

/* Of frames: where a suspended frame's value stack ends. A pointer, or words from the first local on (3.11 to 3.13). */
#define STACK_TOP        64
#define STACK_TOP_3_8    72
#define STACK_DEPTH_3_10 80 /* STACK_TOP has its beginning */

#define STACK_MAX    1024 /* words */
#define OUTER_FRAMES 8    /* that are kept of more than PP_MAX_AWAITING */

/* Returns what a frame awaits that is suspended, 0: it is not known. async-signal-safe. */
static uintptr_t awaited_by_frame(const struct pp_object_reader *reader, uintptr_t frame)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t top, target;
    uint32_t depth;
    if (layout->minor >= 11 && layout->minor <= 13) {
        if (!pp_object_copy(reader, &depth, frame + STACK_TOP, sizeof depth) || depth == 0 || depth > STACK_MAX)
            return 0;
        top = frame + layout->frame.locals + depth * sizeof top;
    } else if (!pp_object_word(reader, frame + (layout->minor < 10 ? STACK_TOP_3_8 : STACK_TOP), &top)) {
        return 0;
    }
    if (layout->minor == 10) {
        if (!pp_object_copy(reader, &depth, frame + STACK_DEPTH_3_10, sizeof depth) || depth > STACK_MAX)
            return 0;
        top += depth * sizeof top;
    }
    top -= (layout->minor >= 15 ? 2 : 1) * sizeof top;
    return pp_object_word(reader, top, &target) ? target & ~(uintptr_t)layout->code_tag : 0;
}

uintptr_t pp_suspended_next(const struct pp_object_reader *reader, uintptr_t frame)
{
    return pp_coroutine_frame(reader, awaited_by_frame(reader, frame));
}

/* Has it noticed when the frame comes to await something else. async-signal-safe. */
static void watch(const struct pp_object_reader *reader, uintptr_t address, const struct pp_frame *frame)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uint32_t half;
    uintptr_t word;
    pp_object_word(reader, address + layout->frame.code, &word);
    pp_object_copy(reader, &half, address + layout->frame.instr, sizeof half);
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
        !pp_frame_take(&frames, bytes, frame) || frame->is_shim)
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
    uintptr_t address = pp_task_frame(reader, task), *addresses = slot->scratch->suspended;
    uint32_t count = 0, kept = 0;
    bool cut = false;
    for (; address && count < PP_MAX_SUSPENDED; address = pp_suspended_next(objects, address))
        addresses[count++] = address;
    for (uint32_t i = 0; i < count; i++) {
        struct pp_frame frame;
        if (count > PP_MAX_AWAITING && i == OUTER_FRAMES) {
            i = count - (PP_MAX_AWAITING - 1 - OUTER_FRAMES);
            cut = true;
        }
        if (!read_frame(objects, addresses[i], &frame))
            break;
        awaiting[kept++] = (struct pp_python_frame){frame.code, frame.instr, addresses[i]};
    }
    if (!pp_code_resolve_more(objects->python, slot, awaiting, kept, objects->plain, resolved))
        return false;
    if (cut) {
        memmove(&resolved[OUTER_FRAMES + 1], &resolved[OUTER_FRAMES], (kept++ - OUTER_FRAMES) * sizeof *resolved);
        resolved[OUTER_FRAMES] = (struct pp_record_frame){PP_ENTRY_CUT, 0};
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
