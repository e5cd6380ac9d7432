/* SPDX-License-Identifier: Apache-2.0 */
#include "greenlet.h"
#include "../capture/safe_read.h"

/* Fields beyond the header of an object */
#define SPAWN_CODE 0 /* of gevent's _Frame */
#define SPAWN_LINE 8
#define SPAWN_BACK 16
/* beyond the fields of greenlet.greenlet, in gevent's Greenlet */
#define GEVENT_SPAWN 40
/* up to greenlet 1.x, from the object's beginning */
#define OLD_STACK_STOP 24
#define OLD_RUN_INFO   64                     /* of a greenlet that has begun: the dict of its thread's state */
#define OLD_KEY        "__greenlet_ts_curkey" /* in that dict, while another thread's is in the static variable */

#define STATE_NONE      1       /* since 2.0, in the thread's word: it has used no greenlet yet */
#define HUB             "[hub]" /* switches to the greenlets whose turn it is */
#define BASES_MAX       8
#define CALLS_MAX       4  /* callables in callables */
#define SITES_MAX       10 /* gevent keeps so many frames */
#define PATH_CHARACTERS 64 /* the last ones */

/* Reads the running greenlet of greenlet 0.4 and 1.x. What is in the static variable may be another thread's, which
 * frees it at any time. async-signal-safe. */
static bool read_old(const struct pp_context_reader *reader, uintptr_t *greenlet)
{
    struct pp_object_reader careful = reader->objects;
    struct pp_attribute key = {0};
    uintptr_t dict, owner = 0, stop;
    careful.direct = false;
    if (!pp_object_word(&careful, reader->facts->greenlet.current, greenlet) ||
        !pp_object_word(&careful, reader->state->address + careful.python->layout.thread_state.dict, &dict))
        return false;
    if (*greenlet)
        pp_object_word(&careful, *greenlet + OLD_RUN_INFO, &owner);
    if (!dict || (owner != dict && !pp_dict_get_named(&reader->objects, dict, OLD_KEY, &key, greenlet))) {
        *greenlet = 0;
        return true;
    }
    if (!pp_object_word(&careful, *greenlet + OLD_STACK_STOP, &stop))
        return false;
    if (stop == UINTPTR_MAX) /* the thread's first one, which owns the whole stack */
        *greenlet = 0;
    return true;
}

/* Reads the word of the thread in the extension's TLS block (since 2.0). CPython unloads no extension.
 * async-signal-safe. */
static uintptr_t read_word(const struct pp_context_reader *reader, bool *certain)
{
    struct pp_slot *slot = reader->slot;
    struct pp_tls_word word = {
        .kind = PP_TLS_DYNAMIC, .module = reader->facts->greenlet.tls_module, .offset = sizeof(uintptr_t)};
    return pp_tls_read_in_block(&word, slot->thread.thread_pointer, pp_outside_loader(slot),
                                &slot->thread.greenlet_block, certain);
}

/* Reads the running greenlet, 0: the thread's first one. Of a thread whose word is not certain all is to be copied:
 * *careful becomes the reader for that. async-signal-safe. */
static bool read_current(const struct pp_context_reader *reader, struct pp_context_reader *careful, uintptr_t *greenlet)
{
    uintptr_t first_and_current[2];
    bool certain;
    *careful = *reader;
    if (reader->facts->greenlet.current)
        return read_old(reader, greenlet);
    uintptr_t state = read_word(reader, &certain);
    careful->objects.direct &= certain;
    *greenlet = 0;
    if (!state || state == STATE_NONE)
        return true;
    if (!pp_object_copy(&careful->objects, first_and_current, state, sizeof first_and_current))
        return false;
    if (first_and_current[1] != first_and_current[0])
        *greenlet = first_and_current[1];
    return true;
}

bool pp_greenlets_used(const struct pp_context_reader *reader)
{
    const struct pp_greenlet_facts *facts = &reader->facts->greenlet;
    bool certain;
    return facts->type && (facts->current || read_word(reader, &certain) > STATE_NONE);
}

enum kind {
    UNKNOWN, /* no greenlet */
    PLAIN,
    GEVENT,
    GEVENT_HUB,
};

/* Classifies a greenlet by the first of its type's bases that is known. async-signal-safe. */
static enum kind kind_of(const struct pp_context_reader *reader, uintptr_t greenlet, uintptr_t *type)
{
    const struct pp_greenlet_facts *facts = &reader->facts->greenlet;
    uintptr_t base;
    if (!pp_object_type(&reader->objects, greenlet, type))
        return UNKNOWN;
    base = *type;
    for (unsigned i = 0; i < BASES_MAX && pp_plausible(base); i++) {
        if (base == facts->type)
            return PLAIN;
        if (base == facts->gevent_type)
            return GEVENT;
        if (base == facts->hub_type)
            return GEVENT_HUB;
        if (!pp_object_word(&reader->objects, base + reader->objects.python->layout.type.tp_base, &base))
            return UNKNOWN;
    }
    return UNKNOWN;
}

/* Names what is the same context in all threads. async-signal-safe. */
static bool named(struct pp_context *greenlet, const char *name, uint32_t bytes)
{
    greenlet->text = (struct pp_str){(uintptr_t)name, {bytes, 1, 0, 0}};
    return true;
}

/* Locates the name of the function that a callable calls in the end; of a callable object, its class's.
 * async-signal-safe. */
static bool read_callable(const struct pp_context_reader *reader, uintptr_t callable, struct pp_str *name)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_greenlet_facts *facts = &reader->facts->greenlet;
    uintptr_t type, text;
    for (unsigned i = 0; i < CALLS_MAX && pp_object_type(objects, callable, &type); i++) {
        if (type == facts->function_type)
            return pp_object_word(objects, callable + objects->python->layout.function.qualname, &text) &&
                   pp_str_open(objects, text, PP_CONTEXT_TEXT_MAX, name);
        if (type != facts->method_type && type != facts->partial_type)
            return pp_class_name_find(objects, type, &text) && pp_str_open(objects, text, PP_CONTEXT_TEXT_MAX, name);
        const struct pp_python_layout *layout = &objects->python->layout;
        bool is_method = type == facts->method_type;
        uint8_t called = is_method ? layout->callable.im_func : layout->callable.partial_fn;
        if (!pp_object_word(objects, callable + called, &callable))
            return false;
    }
    return false;
}

/* Finds what a greenlet of gevent runs: what it was given, or else what its class has. async-signal-safe. */
static bool find_run(const struct pp_context_reader *reader, uintptr_t dict, uintptr_t type, uintptr_t *run)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_greenlet_facts *facts = &reader->facts->greenlet;
    const struct pp_python_layout *layout = &objects->python->layout;
    if (dict && pp_dict_get(objects, dict, facts->run_key, run))
        return true;
    for (unsigned i = 0; i < BASES_MAX && type != facts->gevent_type && pp_plausible(type); i++)
        if (pp_object_word(objects, type + layout->type.tp_dict, &dict) &&
            pp_dict_get(objects, dict, facts->run_key, run))
            return true;
        else if (!pp_object_word(objects, type + layout->type.tp_base, &type))
            return false;
    return false;
}

/* Locates the last characters of a path. async-signal-safe. */
static bool open_path(const struct pp_object_reader *objects, uintptr_t code, struct pp_str *path)
{
    uintptr_t text;
    if (!pp_object_word(objects, code + objects->python->layout.code.filename, &text) ||
        !pp_str_open(objects, text, UINT32_MAX, path))
        return false;
    uint32_t most = PATH_CHARACTERS * path->record.width, bytes = path->record.bytes;
    if (bytes > most) {
        path->data += bytes - most;
        path->record.bytes = most;
    }
    return true;
}

/* Whether code of this path only passes on what other code wants to be run: the other code is of interest.
 * async-signal-safe. */
static bool hands_on(const struct pp_object_reader *objects, const struct pp_str *path)
{
    static const char gevent[] = "/gevent/", threading[] = "/threading.py";
    enum { GEVENT_LENGTH = sizeof gevent - 1, THREADING_LENGTH = sizeof threading - 1 };
    char text[PATH_CHARACTERS];
    uint32_t length = path->record.bytes;
    if (path->record.width != 1 || !pp_object_copy(objects, text, path->data, length))
        return false;
    for (uint32_t i = 0; i + GEVENT_LENGTH <= length; i++)
        if (memcmp(text + i, gevent, GEVENT_LENGTH) == 0)
            return true;
    return length >= THREADING_LENGTH && memcmp(text + length - THREADING_LENGTH, threading, THREADING_LENGTH) == 0;
}

/* Reads where a greenlet of gevent was spawned: the innermost frame that is not gevent's own, of those that gevent has
 * kept. async-signal-safe. */
static void read_site(const struct pp_context_reader *reader, uintptr_t greenlet, struct pp_context *site)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_greenlet_facts *facts = &reader->facts->greenlet;
    uintptr_t frame, type, words[1 + (SPAWN_BACK + 8) / sizeof(uintptr_t)]; /* from the type on */
    if (!facts->spawn_type || !pp_object_word(objects, greenlet + facts->size + GEVENT_SPAWN, &frame))
        return;
    for (unsigned i = 0; i < SITES_MAX && pp_plausible(frame); i++) {
        if (!pp_object_copy(objects, words, frame + objects->python->layout.object_type, sizeof words) ||
            words[0] != facts->spawn_type)
            return;
        uintptr_t code = pp_word(words + 1, SPAWN_CODE);
        if (!pp_object_type(objects, code, &type) || type != objects->python->code_type ||
            !open_path(objects, code, &site->text))
            return;
        if (!hands_on(objects, &site->text)) {
            site->identity = pp_u32(words + 1, SPAWN_LINE);
            return;
        }
        frame = pp_word(words + 1, SPAWN_BACK);
    }
}

bool pp_greenlet_read(const struct pp_context_reader *any, struct pp_context *greenlet, struct pp_context *site)
{
    struct pp_context_reader careful;
    const struct pp_context_reader *reader = &careful;
    const struct pp_greenlet_facts *facts = &any->facts->greenlet;
    uintptr_t current, type, dict, value;
    if (!read_current(any, &careful, &current))
        return false;
    if (!current)
        return true;
    enum kind kind = kind_of(reader, current, &type);
    greenlet->identity = PP_SAME_NAME;
    if (kind == GEVENT_HUB)
        return named(greenlet, HUB, sizeof HUB - 1);
    if (kind != GEVENT || !pp_object_word(&reader->objects, current + facts->dict_offset, &dict))
        return false;
    if (dict && pp_dict_get(&reader->objects, dict, facts->name_key, &value) &&
        pp_str_open(&reader->objects, value, PP_CONTEXT_TEXT_MAX, &greenlet->text))
        return true;
    read_site(reader, current, site);
    return find_run(reader, dict, type, &value) && read_callable(reader, value, &greenlet->text);
}

/* async-signal-safe. */
static bool is_in(uintptr_t address, const _Atomic uintptr_t *start, const _Atomic uintptr_t *end)
{
    return address >= atomic_load_explicit(start, memory_order_relaxed) &&
           address < atomic_load_explicit(end, memory_order_relaxed);
}

/* Whether the extension has switched stacks and may not be done with it, as far as the native frames tell. What the
 * walk has not seen of them for want of rows the flush thread will see (merge/finish_sample.c).
 * async-signal-safe. */
static bool is_switching(const struct pp_native_stack *native)
{
    bool runs_extension = false;
    for (unsigned i = 0; i < native->count; i++) {
        uintptr_t address = native->frames[i].ip;
        if (pp_in_eval(address))
            return false;
        for (unsigned caller = 0; caller < PP_GREENLET_CALLERS; caller++)
            if (is_in(address, &pp_capture.greenlet_switched[caller].start, &pp_capture.greenlet_switched[caller].end))
                return true;
        runs_extension |= is_in(address, &pp_capture.greenlet_start, &pp_capture.greenlet_end);
    }
    return runs_extension && !native->continuable; /* its callers are not known */
}

bool pp_greenlet_read_frame(const struct pp_context_reader *any, const struct pp_native_stack *native, uintptr_t frame,
                            struct pp_frame_role role, struct pp_context *greenlet)
{
    struct pp_context_reader careful;
    const struct pp_context_reader *reader = &careful;
    const struct pp_object_reader *objects = &careful.objects;
    const struct pp_python_layout *layout = &any->objects.python->layout;
    uintptr_t current, type, value;
    if (!read_current(any, &careful, &current) || !current || kind_of(reader, current, &type) == UNKNOWN ||
        is_switching(native))
        return false;
    greenlet->identity = PP_SAME_NAME;
    if (role.rule == PP_FRAME_HUB)
        return named(greenlet, HUB, sizeof HUB - 1);
    if (role.rule == PP_FRAME_CALLS && pp_frame_local_read(objects, frame, role.local, &value) &&
        read_callable(reader, value, &greenlet->text))
        return true;
    return pp_object_word(objects, frame + layout->frame.code, &value) &&
           pp_object_word(objects, (value & ~(uintptr_t)layout->code_tag) + layout->code.qualname, &value) &&
           pp_str_open(objects, value, PP_CONTEXT_TEXT_MAX, &greenlet->text);
}
