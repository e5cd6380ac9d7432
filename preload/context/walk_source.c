/* SPDX-License-Identifier: Apache-2.0 */
#include "walk_source.h"
#include "../capture/capture.h"
#include "../capture/safe_read.h"
#include "values.h"
#include <string.h>

#define HEX_DIGITS 32 /* 128 bits */

struct walk {
    const struct pp_context_reader *reader;
    unsigned number;
    const struct pp_source *source;
};

enum taken { TAKEN, NOTHING_THERE, UNREADABLE };

/* Returns where an attribute was found last. Steps share these places: what another step has learnt is forgotten. */
static struct pp_attribute *learnt_of(const struct walk *walk, unsigned step)
{
    uint16_t owner = (uint16_t)(walk->number * PP_WAY_STEPS + step + 1);
    struct pp_learnt_step *learnt = &walk->reader->slot->thread.learnt.steps[owner % PP_LEARNT_STEPS];
    if (learnt->owner != owner)
        *learnt = (struct pp_learnt_step){.owner = owner};
    return &learnt->attribute;
}

static enum taken taken_if(bool is_there)
{
    return is_there ? TAKEN : NOTHING_THERE;
}

/* Reads what the class of the object has in __slots__; the object may be of another class. */
static enum taken take_slot(const struct walk *walk, const struct pp_member *slot, uintptr_t *object)
{
    const struct pp_object_reader *objects = &walk->reader->objects;
    if (!slot->type || !pp_object_is(objects, *object, slot->type))
        return NOTHING_THERE;
    return pp_member_read(objects, *object, slot, object) ? taken_if(*object != 0) : UNREADABLE;
}

/* Reads the name of a function. Those that another function has made, as decorators and interceptors do, share it.
 */
static enum taken take_function_name(const struct pp_object_reader *objects, uintptr_t *object)
{
    static const char made[] = "<locals>";
    uint8_t characters[PP_CONTEXT_TEXT_MAX];
    uintptr_t text;
    struct pp_str name;
    if (!pp_object_word(objects, *object + objects->python->layout.function.qualname, &text) ||
        !pp_str_open(objects, text, PP_CONTEXT_TEXT_MAX, &name) ||
        !pp_object_copy(objects, characters, name.data, name.record.bytes))
        return UNREADABLE;
    *object = text;
    for (uint32_t i = 0; name.record.width == 1 && i + sizeof made - 1 <= name.record.bytes; i++)
        if (memcmp(characters + i, made, sizeof made - 1) == 0)
            return NOTHING_THERE;
    return TAKEN;
}

/* Reads the name of the object's class. */
static enum taken take_class_name(const struct pp_object_reader *objects, uintptr_t *object)
{
    uintptr_t class;
    return pp_object_type(objects, *object, &class) && pp_class_name_find(objects, class, object) ? TAKEN : UNREADABLE;
}

/* Takes one step from *object. An attribute that is being changed is not told from one that is not there. */
static enum taken take_step(const struct walk *walk, const struct pp_step *step, uintptr_t *object)
{
    const struct pp_object_reader *objects = &walk->reader->objects;
    const struct pp_context_facts *facts = walk->reader->facts;
    unsigned at = (unsigned)(step - (const struct pp_step *)&walk->source->ways);
    static const struct pp_member nothing; /* of a frame's source nothing need have been found */
    const struct pp_member *found = facts ? &facts->sources[walk->number].steps[at] : &nothing;
    struct pp_attribute anywhere = {0};
    switch (step->kind) {
    case PP_STEP_ATTRIBUTE:
        return taken_if(((found->type && pp_member_read(objects, *object, found, object)) ||
                         pp_attribute_read(objects, *object, step->name, learnt_of(walk, at), object)) &&
                        *object);
    case PP_STEP_SLOT:
        return take_slot(walk, found, object);
    case PP_STEP_INSTANCE:
        return taken_if(found->type && pp_object_is(objects, *object, found->type));
    case PP_STEP_ITSELF:
        return TAKEN;
    case PP_STEP_CLASS:
        return take_class_name(objects, object);
    case PP_STEP_METHOD:
        return taken_if(found->type && pp_object_is(objects, *object, found->type) &&
                        pp_object_word(objects, *object + objects->python->layout.callable.im_func, object));
    case PP_STEP_FUNCTION:
        return found->type && pp_object_is(objects, *object, found->type) ? take_function_name(objects, object)
                                                                          : NOTHING_THERE;
    case PP_STEP_ITEM:
        return pp_tuple_item(objects, *object, step->number, object) ? TAKEN : UNREADABLE;
    case PP_STEP_ENTRY:
        if (!found->type)
            return NOTHING_THERE;
        return pp_small_dict_get(objects, *object, found->type, object) ? taken_if(*object != 0) : UNREADABLE;
    case PP_STEP_NAMED: /* keys that come from requests: what was learnt of one key is of no use for another */
        return taken_if(pp_dict_get_named(objects, *object, step->name, &anywhere, object));
    case PP_STEP_END:
        break;
    }
    return TAKEN;
}

/* Takes the steps of a way up to its end, or so many. */
static enum taken take_way(const struct walk *walk, const struct pp_step *way, unsigned steps, uintptr_t *object)
{
    for (unsigned i = 0; i < steps && way[i].kind; i++) {
        uintptr_t next = *object;
        enum taken taken = take_step(walk, &way[i], &next);
        if (taken == TAKEN)
            *object = next;
        else if (taken == UNREADABLE || way[i].missing == PP_MISSING_UNREAD)
            return UNREADABLE;
        else if (way[i].missing == PP_MISSING_NONE)
            return NOTHING_THERE;
    }
    return TAKEN;
}

/* Reads a number of hexadecimal digits, the lower 64 bits first. */
static bool read_hex(const struct pp_object_reader *objects, uintptr_t object, uint64_t number[2])
{
    struct pp_str text;
    uint8_t digits[HEX_DIGITS];
    if (!pp_str_open(objects, object, HEX_DIGITS, &text) || text.record.width != 1 || text.record.cut ||
        !pp_object_copy(objects, digits, text.data, text.record.bytes))
        return false;
    number[0] = number[1] = 0;
    for (uint32_t i = 0; i < text.record.bytes; i++) {
        if (!(digits[i] >= '0' && digits[i] <= '9') && !(digits[i] >= 'a' && digits[i] <= 'f'))
            return false;
        number[1] = number[1] << 4 | number[0] >> 60;
        number[0] = number[0] << 4 | (uint64_t)(digits[i] >= 'a' ? digits[i] - 'a' + 10 : digits[i] - '0');
    }
    return true;
}

/* Reads the number to which a step leads; 0 where it may be made later. */
static bool read_number(const struct walk *walk, const struct pp_step *step, uintptr_t object, uint64_t number[2])
{
    const struct pp_object_reader *objects = &walk->reader->objects;
    if (take_step(walk, step, &object) == TAKEN &&
        (pp_int_read(objects, object, number) || read_hex(objects, object, number)))
        return true;
    number[0] = number[1] = 0;
    return walk->source->numbered_late;
}

/* Reads the ids of a span. */
static bool read_ids(const struct walk *walk, uintptr_t object, struct pp_context *span)
{
    const struct pp_ways *ways = &walk->source->ways;
    uintptr_t ids = object;
    uint64_t id[2];
    if (take_step(walk, ways->ids, &ids) != TAKEN || !read_number(walk, ways->trace_id, ids, span->trace_id))
        return false;
    span->identity = span->trace_id[0] | span->trace_id[1];
    if (walk->reader->trace_only)
        return true;
    if (!read_number(walk, ways->span_id, ids, id))
        return false;
    span->no_id = walk->source->numbered_late && !id[0];
    span->identity = span->no_id ? object : id[0];
    return true;
}

/* Reads whether the trace is kept, as far as that is said where the reading begins. */
static enum pp_trace_choice read_choice(const struct walk *walk, uintptr_t start)
{
    const struct pp_ways *ways = &walk->source->ways;
    const struct pp_object_reader *objects = &walk->reader->objects;
    if (!ways->from_start[0].kind ||
        take_way(walk, ways->from_start, sizeof ways->from_start / sizeof *ways->from_start, &start) != TAKEN)
        return PP_TRACE_BY_ID;
    return pp_str_is(objects, start, "highest") ? PP_TRACE_KEPT
           : pp_str_is(objects, start, "off")   ? PP_TRACE_LEFT
                                                : PP_TRACE_BY_ID;
}

/* Reads the first text that has characters, with what comes before it. */
static bool read_text(const struct walk *walk, uintptr_t object, struct pp_str *text)
{
    const struct pp_ways *ways = &walk->source->ways;
    const struct pp_object_reader *objects = &walk->reader->objects;
    if (!ways->text[0].kind)
        return pp_bytes_open(objects, object, PP_CONTEXT_TEXT_MAX, text) && text->record.bytes;
    for (unsigned i = 0; i < sizeof ways->text / sizeof *ways->text && ways->text[i].kind; i++) {
        uintptr_t value = object;
        if (take_step(walk, &ways->text[i], &value) == TAKEN &&
            pp_str_open(objects, value, PP_CONTEXT_TEXT_MAX, text) && (text->record.bytes || walk->source->before))
            return true;
    }
    text->record.bytes = 0;
    return false;
}

bool pp_source_read(const struct pp_context_reader *reader, unsigned number, uintptr_t start,
                    struct pp_context *context)
{
    const struct pp_source *source = &pp_sources[number];
    const struct walk walk = {reader, number, source};
    const struct pp_ways *ways = &source->ways;
    uintptr_t object = start;
    enum taken taken = take_way(&walk, ways->object, sizeof ways->object / sizeof *ways->object, &object);
    if (taken != TAKEN)
        return taken == NOTHING_THERE;
    if (source->kind == PP_CONTEXT_SPAN) {
        if (!read_ids(&walk, object, context))
            return false;
        if (!reader->trace_only)
            read_text(&walk, object, &context->text); /* not all have a name */
        if (pp_traces_kept() && context->identity)
            context->choice = read_choice(&walk, start);
    } else if (read_text(&walk, object, &context->text))
        context->identity = source->same_name ? PP_SAME_NAME : object;
    return true;
}

bool pp_source_start(const struct pp_context_reader *reader, uintptr_t frame, struct pp_frame_role role,
                     uintptr_t *start)
{
    const struct pp_object_reader *objects = &reader->objects;
    uintptr_t type;
    if (!pp_frame_local_read(objects, frame, role.local, start) || !pp_object_type(objects, *start, &type))
        return false;
    if (pp_type_is_pythons(objects, type, "cell") &&
        !pp_object_word(objects, *start + objects->python->layout.object.ob_ref, start))
        return false;
    return *start != 0;
}

bool pp_source_read_variable(const struct pp_context_reader *reader, unsigned number, uintptr_t vars,
                             struct pp_context *context)
{
    uintptr_t value;
    return pp_context_var_read(&reader->objects, vars, &reader->facts->sources[number].variable, &value) &&
           (!value || pp_source_read(reader, number, value, context));
}
