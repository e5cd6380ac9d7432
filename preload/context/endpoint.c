/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint.h"
#include "../capture/safe_read.h"
#include "awaiters.h"
#include "tasks.h"

/* Locals by number, of functions that have had these for years, but the last: */
#define SELF            0
#define DJANGO_REQUEST  1
#define FASTAPI_CONTEXT 4 /* None, or what holds the path of a route in an included router */
#define WORKER_FUTURE   5

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
static bool read_django(const struct pp_context_reader *reader, uintptr_t frame, struct pp_context *part)
{
    struct pp_learnt_attributes *learnt = &reader->slot->thread.learnt;
    uintptr_t request, match;
    part->identity = frame;
    return pp_frame_local_read(&reader->objects, frame, DJANGO_REQUEST, &request) &&
           pp_attribute_read(&reader->objects, request, "resolver_match", &learnt->django_match, &match) &&
           read_text(&reader->objects, match, "route", &learnt->django_route, &part->text);
}

/* async-signal-safe. */
static bool read_route(const struct pp_context_reader *reader, uintptr_t frame, enum pp_frame_rule rule,
                       struct pp_context *part)
{
    struct pp_learnt_attributes *learnt = &reader->slot->thread.learnt;
    struct pp_object_reader careful = reader->objects;
    uintptr_t context;
    if (!pp_frame_local_read(&reader->objects, frame, SELF, &part->identity))
        return false;
    if (rule == PP_FRAME_FASTAPI) {
        /* older versions have no such local, and what is there may be no object */
        careful.plain = false;
        if (pp_frame_local_read(&reader->objects, frame, FASTAPI_CONTEXT, &context) &&
            read_text(&careful, context, "path", &learnt->fastapi_path, &part->text))
            return true;
    }
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
static void add_frame(const struct pp_context_reader *reader, uintptr_t frame, enum pp_frame_rule rule,
                      struct pp_context *context)
{
    uint8_t *buffer = reader->slot->scratch->endpoint;
    struct pp_context part = {.identity = 0};
    if (rule == PP_FRAME_DJANGO) {
        if (!read_django(reader, frame, &part))
            return;
        buffer[0] = '/';
        context->text = (struct pp_str){(uintptr_t)buffer, {1, 1, 0, 0}};
    } else if (!read_route(reader, frame, rule, &part) || part.identity == context->identity) {
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
        enum pp_frame_rule rule = pp_frame_rule_read(objects, code & ~(uintptr_t)layout->code_tag);
        if (rule >= PP_FRAME_SERVES && rule < PP_FRAME_WORK)
            add_frame(reader, frame, rule, context);
        frame = pp_coroutine_frame(objects, awaited_by_frame(objects, frame));
    }
}

uintptr_t pp_awaiter_of_frame(const struct pp_context_reader *reader, uintptr_t frame, enum pp_frame_rule rule)
{
    struct pp_context_reader careful = *reader;
    uintptr_t local;
    if (rule == PP_FRAME_WORKER && reader->objects.python->layout.minor < 11)
        careful.objects.plain = false; /* another function of the name may have no such local */
    if (rule == PP_FRAME_WORK && pp_frame_local_read(&careful.objects, frame, SELF, &local))
        return pp_awaiter_of_work(&careful, local);
    if (rule == PP_FRAME_WORKER && pp_frame_local_read(&careful.objects, frame, WORKER_FUTURE, &local))
        return pp_awaiter_of_result(&careful, local);
    return 0;
}

/* Adds what the task tells for which a thread works. async-signal-safe. */
static void add_work(const struct pp_context_reader *reader, uintptr_t frame, enum pp_frame_rule rule,
                     struct pp_context *context)
{
    uintptr_t task = pp_awaiter_of_frame(reader, frame, rule);
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
        uint32_t entry = slot->scratch->resolved[i].entry;
        enum pp_frame_rule rule = entry < pp_slot_code_entries(slot) ? slot->codes[entry].rule : PP_FRAME_ANY;
        if (rule == PP_FRAME_WORK || rule == PP_FRAME_WORKER)
            add_work(reader, slot->scratch->python[i].address, rule, context);
        else if (rule >= PP_FRAME_SERVES)
            add_frame(reader, slot->scratch->python[i].address, rule, context);
    }
}
