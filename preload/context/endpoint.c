/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint.h"
#include "../capture/code_cache.h"
#include "awaiters.h"
#include "coroutine.h"
#include "starlette.h"
#include "suspended.h"
#include "tasks.h"
#include "trio.h"
#include "values.h"
#include "walk_source.h"

/* What frames tell, the outermost first. */
struct reading {
    const struct pp_context_reader *reader;
    struct pp_context routes; /* those of Starlette that were met, in each other, then what a row of pp_sources says */
    struct pp_context scope;  /* the route that the request itself has, */
    uint32_t scope_at;        /* and the bytes of the routes before it */
    unsigned source_frames;
    bool source_found; /* in one of them */
    bool serves;       /* a request */
    bool is_mounted; /* it begins with a route of a mounted application: the task that awaits this one has the mount */
    bool joined;     /* what awaits it has been read */
};

/* async-signal-safe. */
static void begin(struct reading *reading, const struct pp_context_reader *reader)
{
    *reading = (struct reading){.reader = reader};
    reading->routes.text = (struct pp_str){(uintptr_t)reader->slot->scratch->endpoint, {0, 1, 0, 0}};
}

/* Adds a part to the text, which becomes as wide as the wider of them; what finds no room is cut off.
 * async-signal-safe. */
static void append(const struct pp_context_reader *reader, struct pp_context *context, const struct pp_context *part)
{
    uint8_t *buffer = reader->slot->scratch->endpoint, added[PP_CONTEXT_TEXT_MAX];
    struct pp_record_text *text = &context->text.record;
    const struct pp_record_text *more = &part->text.record;
    context->identity = part->identity;
    if (context->text.data != (uintptr_t)buffer || !more->width ||
        !pp_object_copy(&reader->objects, added, part->text.data, more->bytes)) {
        context->text = part->text; /* it will not be read either */
        return;
    }
    uint32_t width = text->width > more->width ? text->width : more->width, room = PP_CONTEXT_TEXT_MAX / width;
    uint32_t before = text->bytes / text->width, count = more->bytes / more->width;
    before = before < room ? before : room;
    uint32_t taken = count < room - before ? count : room - before;
    for (uint32_t i = before; width != text->width && i-- > 0;) {
        uint32_t character = pp_character(buffer, i, text->width);
        memcpy(buffer + i * width, &character, width);
    }
    for (uint32_t i = 0; i < taken; i++) {
        uint32_t character = pp_character(added, i, more->width);
        memcpy(buffer + (before + i) * width, &character, width);
    }
    text->cut |= more->cut || taken < count || before < text->bytes / text->width;
    text->bytes = (before + taken) * width;
    text->width = (uint8_t)width;
}

/* What is mounted at / has an empty path. async-signal-safe. */
static bool end(struct reading *reading, struct pp_context *context)
{
    if (reading->scope.identity && reading->scope_at == reading->routes.text.record.bytes)
        append(reading->reader, &reading->routes, &reading->scope);
    *context = reading->routes;
    if (!context->text.record.bytes)
        context->identity = 0;
    return reading->serves;
}

/* Adds what the row of the frame says; frames further in are of the same request. Returns whether the frame serves one:
 * an application of ASGI is called for the server's life as well, and has no request then. async-signal-safe. */
static bool add_source(struct reading *reading, uintptr_t frame, struct pp_frame_role role)
{
    const struct pp_context_reader *reader = reading->reader;
    const char *before = &pp_sources[role.second].before;
    struct pp_context slash = {.text = {(uintptr_t)before, {1, 1, 0, 0}}}, found = {.identity = 0};
    uintptr_t start;
    if (reading->source_found || reading->source_frames++ >= PP_SOURCE_FRAMES)
        return true;
    if (!pp_source_start(reader, frame, role, &start))
        return false;
    if (!pp_source_read(reader, role.second, start, &found) || !found.identity)
        return true;
    if (*before)
        append(reader, &reading->routes, &slash);
    append(reader, &reading->routes, &found);
    reading->source_found = true;
    return true;
}

/* Whether the route is a mount. async-signal-safe. */
static bool is_mount(const struct pp_context_reader *reader, uintptr_t route, struct pp_frame_role role)
{
    const struct pp_context_facts *facts = reader->facts;
    uintptr_t class = facts ? facts->sources[PP_SOURCE_STARLETTE].steps[0].type : 0;
    return role.rule == PP_FRAME_MOUNT || (class && pp_object_is(&reader->objects, route, class));
}

/* async-signal-safe. */
static void add_route(struct reading *reading, uintptr_t frame, struct pp_frame_role role)
{
    const struct pp_context_reader *reader = reading->reader;
    struct pp_context part = {.identity = 0};
    uintptr_t scope, included = 0;
    if (role.second != PP_NO_LOCAL &&
        (!pp_frame_local_read(&reader->objects, frame, role.second, &included) || !included))
        return; /* the frame has just begun, and the route may have the end of the path only */
    if (!pp_frame_local_read(&reader->objects, frame, role.local, &part.identity) ||
        part.identity == reading->routes.identity || /* a method and the one that it extends */
        !pp_starlette_path_read(reader, part.identity, included, &part.text))
        return;
    /* of handle(self, scope, ...) */
    reading->is_mounted |=
        !reading->serves && pp_frame_local_read(&reader->objects, frame, role.local + 1u, &scope) &&
        pp_starlette_is_mounted(reader, scope, is_mount(reader, part.identity, role) ? &part.text : NULL);
    append(reader, &reading->routes, &part);
}

/* Returns whether it is the scope of a request. async-signal-safe. */
static bool add_scope(struct reading *reading, uintptr_t frame, struct pp_frame_role role)
{
    const struct pp_object_reader *objects = &reading->reader->objects;
    struct pp_context found = {.identity = 0};
    uintptr_t scope;
    if (!pp_frame_local_read(objects, frame, role.local, &scope) ||
        (role.rule == PP_FRAME_CYCLE &&
         !pp_attribute_read(objects, scope, "scope", &reading->reader->slot->thread.learnt.uvicorn_scope, &scope)))
        return false;
    bool is_request = pp_starlette_scope_read(reading->reader, scope, &reading->routes.text, &found);
    if (found.identity && found.identity != reading->routes.identity) { /* not the mount itself */
        reading->scope = found;
        reading->scope_at = reading->routes.text.record.bytes;
    }
    return is_request;
}

/* Adds what a frame that serves tells. async-signal-safe. */
static void add_frame(struct reading *reading, uintptr_t frame, struct pp_frame_role role)
{
    bool serves = true;
    if (role.rule == PP_FRAME_SCOPE)
        serves = add_scope(reading, frame, role);
    else if (role.rule == PP_FRAME_CYCLE)
        add_scope(reading, frame, role);
    else if (role.rule == PP_FRAME_SOURCE)
        serves = add_source(reading, frame, role);
    else if (role.rule >= PP_FRAME_ROUTE && role.rule <= PP_FRAME_MOUNT)
        add_route(reading, frame, role);
    reading->serves |= serves;
}

/* Adds what the suspended frames of a task tell. async-signal-safe. */
static void add_task(struct reading *reading, uintptr_t task)
{
    const struct pp_object_reader *objects = &reading->reader->objects;
    const struct pp_python_layout *layout = &objects->python->layout;
    uintptr_t code, frame = pp_task_frame(reading->reader, task), next;
    for (unsigned i = 0; i < PP_MAX_SUSPENDED && frame && pp_suspended_step(reading->reader, frame, &next);
         i++, frame = next) {
        if (!pp_object_word(objects, frame + layout->frame.code, &code))
            return;
        struct pp_frame_role role;
        code &= ~(uintptr_t)layout->code_tag;
        /* a recording has the words that tell the role: the address may become another code object's */
        if (objects->set || !pp_code_role(reading->reader->slot, code, &role))
            role = pp_frame_role_read(objects, code);
        if (role.rule >= PP_FRAME_SERVES && role.rule < PP_FRAME_WORK)
            add_frame(reading, frame, role);
    }
}

uintptr_t pp_awaiter_of_frame(const struct pp_context_reader *reader, uintptr_t frame, struct pp_frame_role role)
{
    uintptr_t local;
    if (!pp_frame_local_read(&reader->objects, frame, role.local, &local))
        return 0;
    if (role.rule == PP_FRAME_TRIO_WORKER)
        return pp_trio_awaiter_of_work(reader, local);
    return role.rule == PP_FRAME_WORK ? pp_awaiter_of_work(reader, local) : pp_awaiter_of_result(reader, local);
}

/* Adds what the stack tells; outermost first: a route within a mount has the paths of both. async-signal-safe. */
static void add_stack(struct reading *reading, const struct pp_python_stack *stack)
{
    const struct pp_slot *slot = reading->reader->slot;
    for (uint32_t i = stack->frames; i-- > 0;) {
        struct pp_frame_role role = pp_slot_role(slot, slot->scratch->resolved[i].entry);
        uintptr_t task, frame = slot->scratch->python[i].address;
        if (role.rule >= PP_FRAME_SERVES && role.rule < PP_FRAME_WORK)
            add_frame(reading, frame, role);
        else if (role.rule >= PP_FRAME_WORK && !reading->joined &&
                 (task = pp_awaiter_of_frame(reading->reader, frame, role)) != 0)
            add_task(reading, task);
    }
}

/* Adds what the name of the task says: of grpc.aio. async-signal-safe. */
static void add_task_name(struct reading *reading, uintptr_t task)
{
    const struct pp_context_reader *reader = reading->reader;
    const struct pp_ascii *before = &pp_sources[PP_SOURCE_GRPC_AIO].task;
    struct pp_context found = {.identity = PP_SAME_NAME};
    struct pp_record_text *text = &found.text.record;
    char start[32];
    if (!task || !reader->facts || !(reader->facts->found >> PP_SOURCE_GRPC_AIO & 1) ||
        !pp_task_name_read(reader, task, &found.text) || text->width != 1 || text->bytes <= before->length ||
        !pp_object_copy(&reader->objects, start, found.text.data, before->length) ||
        memcmp(start, before->characters, before->length) != 0)
        return;
    found.text.data += before->length;
    text->bytes -= before->length + !text->cut;
    append(reader, &reading->routes, &found);
}

/* Adds the stack (0), or the task that awaits what is before it. async-signal-safe. */
static void add_level(struct reading *reading, const struct pp_python_stack *stack, uint32_t level)
{
    const struct pp_scratch *scratch = reading->reader->slot->scratch;
    if (level)
        add_task(reading, scratch->awaiters[level - 1]);
    else
        add_stack(reading, stack);
    if (!reading->serves)
        add_task_name(reading, level ? scratch->awaiters[level - 1] : scratch->task);
}

bool pp_endpoint_read(const struct pp_context_reader *reader, const struct pp_python_stack *stack,
                      struct pp_context *context, enum pp_reason *why)
{
    uint32_t level = 0, levels = 1 + reader->slot->scratch->awaiter_count;
    struct reading reading;
    bool serves = false;
    do { /* what a task has others do is for its endpoint */
        begin(&reading, reader);
        add_level(&reading, stack, level);
        serves |= end(&reading, context);
    } while (!context->identity && ++level < levels);
    if (reading.is_mounted && level + 1 < levels) {
        begin(&reading, reader);
        reading.joined = true;
        for (uint32_t outer = levels; outer-- > level;)
            add_level(&reading, stack, outer);
        end(&reading, context);
    }
    if (reading.is_mounted) /* the end of the path only */
        context->identity = 0;
    *why = reading.is_mounted ? PP_REASON_CONTEXT_MOUNT : PP_REASON_CONTEXT_NO_ROUTE;
    return serves;
}
