#include "endpoint.h"
#include "../capture/safe_read.h"
#include "frame_rules.h"

/* Locals by number, of functions that have had these for years, but the last: */
#define SELF            0
#define DJANGO_REQUEST  1
#define FASTAPI_CONTEXT 4 /* None, or what holds the path of a route in an included router */

/* async-signal-safe. */
static bool read_local(const struct pp_context_reader *reader, uintptr_t frame, unsigned number, uintptr_t *value)
{
    const struct pp_python_layout *layout = &reader->objects.python->layout;
    bool read = pp_object_word(&reader->objects, frame + layout->frame.locals + number * sizeof *value, value);
    *value &= ~(uintptr_t)layout->code_tag;
    return read;
}

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
    return read_local(reader, frame, DJANGO_REQUEST, &request) &&
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
    if (!read_local(reader, frame, SELF, &part->identity))
        return false;
    if (rule == PP_FRAME_FASTAPI) {
        /* older versions have no such local, and what is there may be no object */
        careful.plain = false;
        if (read_local(reader, frame, FASTAPI_CONTEXT, &context) &&
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

void pp_endpoint_read(const struct pp_context_reader *reader, const struct pp_python_stack *stack,
                      struct pp_context *context)
{
    const struct pp_slot *slot = reader->slot;
    uint8_t *buffer = slot->scratch->endpoint;
    *context = (struct pp_context){.text = {(uintptr_t)buffer, {0, 1, 0, 0}}};
    /* Outermost first: a route within a mount has the paths of both. */
    for (uint32_t i = stack->frames; i-- > 0;) {
        struct pp_context part = {.identity = 0};
        uint32_t entry = slot->scratch->resolved[i].entry;
        enum pp_frame_rule rule = entry < pp_slot_code_entries(slot) ? slot->codes[entry].rule : PP_FRAME_ANY;
        if (rule < PP_FRAME_SERVES)
            continue;
        if (rule == PP_FRAME_DJANGO) {
            if (!read_django(reader, slot->scratch->python[i].address, &part))
                continue;
            buffer[0] = '/';
            context->text = (struct pp_str){(uintptr_t)buffer, {1, 1, 0, 0}};
        } else if (!read_route(reader, slot->scratch->python[i].address, rule, &part) ||
                   part.identity == context->identity) {
            continue; /* a method and the one that it extends */
        }
        append(reader, context, &part);
    }
}
