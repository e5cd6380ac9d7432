/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint.h"
#include "../capture/safe_read.h"
#include "awaiters.h"
#include "tasks.h"

/* Of frames: where a suspended frame's value stack ends. A pointer, or words from the first local on (3.11 to 3.13). */
#define STACK_TOP        64
#define STACK_TOP_3_8    72
#define STACK_DEPTH_3_10 80 /* STACK_TOP has its beginning */

#define STACK_MAX     1024 /* words */
#define SUSPENDED_MAX 64   /* frames of a task that are searched */

/* async-signal-safe. */
static bool read_text(const struct pp_object_reader *reader, uintptr_t object, const char *name,
                      struct pp_attribute *learnt, struct pp_str *text)
{
    uintptr_t value;
    return pp_attribute_read(reader, object, name, learnt, &value) &&
           pp_str_open(reader, value, PP_CONTEXT_TEXT_MAX, text);
}

/* Django's routes have no slash at their beginning. async-signal-safe. */
static bool read_django(const struct pp_context_reader *reader, uintptr_t frame, struct pp_frame_says says,
                        struct pp_context *part)
{
    struct pp_learnt_attributes *learnt = &reader->slot->thread.learnt;
    uintptr_t request, match;
    part->identity = frame;
    return pp_frame_local_read(&reader->objects, frame, says.local, &request) &&
           pp_attribute_read(&reader->objects, request, "resolver_match", &learnt->django_match, &match) &&
           read_text(&reader->objects, match, "route", &learnt->django_route, &part->text);
}

/* async-signal-safe. */
static bool read_route(const struct pp_context_reader *reader, uintptr_t frame, struct pp_frame_says says,
                       struct pp_context *part)
{
    struct pp_learnt_attributes *learnt = &reader->slot->thread.learnt;
    uintptr_t included; /* None, or what holds the path of a route in an included router of FastAPI */
    if (!pp_frame_local_read(&reader->objects, frame, says.local, &part->identity))
        return false;
    if (says.second != PP_NO_LOCAL && pp_frame_local_read(&reader->objects, frame, says.second, &included) &&
        read_text(&reader->objects, included, "path", &learnt->fastapi_path, &part->text))
        return true;
    return read_text(&reader->objects, part->identity, "path", &learnt->route_path, &part->text);
}

/* Adds a part to the text. Parts other than Latin-1 are not joined. async-signal-safe. */
static void append(const struct pp_context_reader *reader, struct pp_context *context, const struct pp_context *part)
{
    uint8_t *buffer = reader->slot->scratch->endpoint;
    struct pp_record_text *text = &context->text.record;
    uint32_t bytes = part->text.record.bytes;
    context->identity = part->identity;
    if (context->text.data != (uintptr_t)buffer || part->text.record.width != 1 ||
        bytes > PP_CONTEXT_TEXT_MAX - text->bytes ||
        !pp_object_copy(&reader->objects, buffer + text->bytes, part->text.data, bytes)) {
        context->text = part->text;
        return;
    }
    text->bytes += bytes;
    text->cut |= part->text.record.cut;
}

/* Adds what a frame with such a rule tells. async-signal-safe. */
static void add_frame(const struct pp_context_reader *reader, uintptr_t frame, struct pp_frame_says says,
                      struct pp_context *context)
{
    uint8_t *buffer = reader->slot->scratch->endpoint;
    struct pp_context part = {.identity = 0};
    if (says.rule == PP_FRAME_DJANGO) {
        if (!read_django(reader, frame, says, &part))
            return;
        buffer[0] = '/';
        context->text = (struct pp_str){(uintptr_t)buffer, {1, 1, 0, 0}};
    } else if (!read_route(reader, frame, says, &part) || part.identity == context->identity) {
        return; /* a method and the one that it extends */
    }
    append(reader, context, &part);
}

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

/* Adds what the suspended frames of a task tell. async-signal-safe. */
static void add_task(const struct pp_context_reader *reader, uintptr_t task, struct pp_context *context)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_python_layout *layout = &objects->python->layout;
    uintptr_t code, frame = pp_task_frame(reader, task);
    for (unsigned i = 0; i < SUSPENDED_MAX && frame; i++) {
        if (!pp_object_word(objects, frame + layout->frame.code, &code))
            return;
        struct pp_frame_says says = pp_frame_says_read(objects, code & ~(uintptr_t)layout->code_tag);
        if (says.rule >= PP_FRAME_SERVES && says.rule < PP_FRAME_WORK)
            add_frame(reader, frame, says, context);
        frame = pp_coroutine_frame(objects, awaited_by_frame(objects, frame));
    }
}

uintptr_t pp_awaiter_of_frame(const struct pp_context_reader *reader, uintptr_t frame, struct pp_frame_says says)
{
    uintptr_t local;
    if (!pp_frame_local_read(&reader->objects, frame, says.local, &local))
        return 0;
    return says.rule == PP_FRAME_WORK ? pp_awaiter_of_work(reader, local) : pp_awaiter_of_result(reader, local);
}

/* Adds what the task tells for which a thread works. async-signal-safe. */
static void add_work(const struct pp_context_reader *reader, uintptr_t frame, struct pp_frame_says says,
                     struct pp_context *context)
{
    uintptr_t task = pp_awaiter_of_frame(reader, frame, says);
    if (task)
        add_task(reader, task, context);
}

void pp_endpoint_read_task(const struct pp_context_reader *reader, uintptr_t task, struct pp_context *context)
{
    *context = (struct pp_context){.text = {(uintptr_t)reader->slot->scratch->endpoint, {0, 1, 0, 0}}};
    add_task(reader, task, context);
}

void pp_endpoint_read(const struct pp_context_reader *reader, const struct pp_python_stack *stack,
                      struct pp_context *context)
{
    const struct pp_slot *slot = reader->slot;
    *context = (struct pp_context){.text = {(uintptr_t)slot->scratch->endpoint, {0, 1, 0, 0}}};
    /* Outermost first: a route within a mount has the paths of both. */
    for (uint32_t i = stack->frames; i-- > 0;) {
        struct pp_frame_says says = pp_slot_says(slot, slot->scratch->resolved[i].entry);
        if (says.rule == PP_FRAME_WORK || says.rule == PP_FRAME_WORKER)
            add_work(reader, slot->scratch->python[i].address, says, context);
        else if (says.rule >= PP_FRAME_SERVES)
            add_frame(reader, slot->scratch->python[i].address, says, context);
    }
}
