/* SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../preload/common/label_kinds.h"
#include "../../preload/common/pseudo_frames.h"
#include "../model/http_requests.h"
#include "../model/kind.h"
#include "../model/traces.h"
#include "package.h"

#define TRACE  "trace"
#define COMMON 0.25 /* of the CPU time of several endpoints: a function that has as much is middleware */

struct part {
    uint32_t function, value;
    uint64_t ns;
};

struct parts {
    PT_TABLE_OF(struct part) items;
};
PT_DEFINE_ADD(static uint32_t add_part, struct parts, items, struct part, item->function, item->value)

/* Adds up the CPU time of each function in each endpoint, and of each endpoint. */
static void add_up(struct pt_profile *profile, struct parts *parts, uint64_t *ns)
{
    PT_AUTO_FREE bool *application = pt_applications(profile);
    PT_AUTO_FREE uint32_t *met = pt_alloc(profile->functions.count, sizeof *met);
    PT_AUTO(pt_group_free) struct pt_group endpoints = pt_group_by(profile, PT_COUNTED_BY);
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        uint32_t value = pt_group_value(&endpoints, sample);
        ns[value] += sample->cpu_ns;
        for (uint32_t node = value ? sample->node : 0; node; node = profile->nodes.items[node].parent) {
            const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[node].frame];
            if (!application[profile->nodes.items[node].frame] || met[frame->subject] == i + 1)
                continue;
            met[frame->subject] = i + 1;
            uint32_t part = add_part(parts, &(struct part){.function = frame->subject, .value = value});
            parts->items.items[part].ns += sample->cpu_ns;
        }
    }
}

bool *pt_find_middleware(struct pt_profile *profile)
{
    if (!pt_has_group(profile, PT_COUNTED_BY))
        return NULL;
    struct parts parts = {0};
    PT_AUTO_FREE uint64_t *ns = pt_alloc(profile->strings.count, sizeof *ns);
    PT_AUTO_FREE uint32_t *endpoints = pt_alloc(profile->functions.count, sizeof *endpoints);
    bool *middleware = pt_alloc(profile->functions.count, sizeof *middleware);
    add_up(profile, &parts, ns);
    for (PT_EACH(const struct part, part, &parts.items))
        if ((double)part->ns >= COMMON * (double)ns[part->value])
            middleware[part->function] = ++endpoints[part->function] > 1;
    PT_FREE_TABLE(&parts.items);
    return middleware;
}

bool *pt_past_middleware(const struct pt_profile *profile)
{
    bool *past = pt_alloc(profile->nodes.count, sizeof *past), *application = pt_applications(profile);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        past[i] = past[node->parent];
        if (!past[i] && application[node->frame])
            past[i] = !profile->middleware || !profile->middleware[profile->frames.items[node->frame].subject];
    }
    free(application);
    return past;
}

/* The contexts that the library knows, in the order in which they answer whose CPU it was. */
static const struct {
    const char *key, *source;
} contexts[] = {
    {PP_KEY_TEST, "pytest"},
    {PP_KEY_ENDPOINT, "Flask, Django, Starlette, FastAPI, aiohttp, Bottle, Quart, Litestar, Falcon, Pyramid, Sanic, "
                      "Tornado and gRPC, "
                      "or from libpyprof.wsgi(app), asgi(app) or a label 'endpoint' of the program"},
    {PP_KEY_TASK,
     "asyncio, trio, jobs of Celery, RQ, Dramatiq, Huey, APScheduler and Prefect, cells of IPython and operations "
     "of Strawberry"},
    {PP_KEY_GREENLET, "gevent, eventlet and greenlet"},
    {PP_KEY_SPAN, "OpenTelemetry, Sentry, ddtrace and libraries that publish a thread context (OTEP 4947)"},
};
#define CONTEXTS (sizeof contexts / sizeof contexts[0])

/* Returns the key of the labels that the word is about; NULL: none, it is "thread", "package" or "line". */
static const char *key_of(const char *by)
{
    if (strncmp(by, PT_GROUP_OWN, sizeof PT_GROUP_OWN - 1) == 0)
        return by + sizeof PT_GROUP_OWN - 1;
    if (strcmp(by, TRACE) == 0)
        return PT_TRACE_ID;
    return strcmp(by, "thread") == 0 || strcmp(by, "package") == 0 || strcmp(by, PT_GROUP_LINES) == 0 ? NULL : by;
}

/* Returns the first value that the set has for the key; 0: none. */
static uint32_t value_in(const struct pt_profile *profile, uint32_t number, const char *key)
{
    const struct pt_label_set set = profile->label_sets.items[number];
    for (uint32_t i = set.first; i < set.first + set.count; i++)
        if (strcmp(pt_string(profile, profile->labels.items[i].key), key) == 0)
            return profile->labels.items[i].value;
    return 0;
}

static uint32_t *values_by_labels(const struct pt_profile *profile, const char *key)
{
    uint32_t *values = pt_alloc(profile->label_sets.count, sizeof *values);
    for (uint32_t i = 1; i < profile->label_sets.count; i++) {
        values[i] = value_in(profile, i, key);
        if (!values[i] && strcmp(key, PP_KEY_TASK) == 0)
            values[i] = value_in(profile, i, PP_KEY_AWAITER);
    }
    return values;
}

static uint32_t *values_by_thread(const struct pt_profile *profile)
{
    uint32_t *values = pt_alloc(profile->threads.count, sizeof *values);
    for (uint32_t i = 0; i < profile->threads.count; i++)
        values[i] = profile->threads.items[i].tid ? profile->threads.items[i].name : 0;
    return values;
}

/* Returns the line that a frame runs: "app.py:25", whatever comprehensions and functions it is a part of. */
static uint32_t line_of(struct pt_profile *profile, uint32_t number)
{
    const struct pt_frame *frame = &profile->frames.items[number];
    PT_AUTO_BUFFER text =
        pt_formatted("%s:%" PRIu32, pt_string(profile, profile->functions.items[frame->subject].short_file),
                     pt_frame_line(profile, frame));
    return pt_intern_text(profile, text.data);
}

static uint32_t *lines_by_node(struct pt_profile *profile)
{
    PT_AUTO_FREE uint32_t *frames = pt_application_frames(profile);
    PT_AUTO_FREE uint32_t *lines = pt_alloc(profile->frames.count, sizeof *lines); /* by frame; 0: not made yet */
    uint32_t *values = pt_alloc(profile->nodes.count, sizeof *values);
    for (uint32_t i = 0; i < profile->nodes.count; i++) {
        uint32_t frame = frames[i];
        if (frame != PT_NONE && !lines[frame])
            lines[frame] = line_of(profile, frame);
        values[i] = frame == PT_NONE ? 0 : lines[frame];
    }
    return values;
}

static struct pt_group_unknown find_unknown(const struct pt_profile *profile, const char *name)
{
    struct pt_group_unknown found = {0};
    for (uint32_t frame = 0; frame < profile->frames.count; frame++) {
        const struct pt_frame *pseudo = &profile->frames.items[frame];
        if (pseudo->kind != PP_FRAME_PSEUDO || strcmp(pt_string(profile, pseudo->subject), name) != 0)
            continue;
        for (uint32_t i = 1; i < profile->nodes.count; i++)
            if (!profile->nodes.items[i].parent && profile->nodes.items[i].frame == frame)
                found = (struct pt_group_unknown){i, pseudo->subject};
    }
    return found;
}

struct pt_group pt_group_by(struct pt_profile *profile, const char *by)
{
    const char *key = key_of(by);
    struct pt_group group = {.of = key                         ? PT_GROUP_OF_LABELS
                                   : strcmp(by, "thread") == 0 ? PT_GROUP_OF_THREAD
                                                               : PT_GROUP_OF_STACK};
    group.values = key                               ? values_by_labels(profile, key)
                   : group.of == PT_GROUP_OF_THREAD  ? values_by_thread(profile)
                   : strcmp(by, PT_GROUP_LINES) == 0 ? lines_by_node(profile)
                                                     : pt_packages_by_node(profile);
    group.unknown[0] = find_unknown(profile, PP_PSEUDO_NOT_SELECTED);
    group.unknown[1] = find_unknown(profile, PP_PSEUDO_PAUSED);
    return group;
}

static bool is_context(const char *key)
{
    bool found = strcmp(key, PP_KEY_AWAITER) == 0;
    for (size_t i = 0; i < CONTEXTS; i++)
        found |= strcmp(key, contexts[i].key) == 0;
    return found;
}

bool pt_has_outside(const char *by)
{
    return strcmp(by, PP_KEY_SPAN) != 0 && is_context(by);
}

struct pt_group pt_group_without_imports(struct pt_profile *profile, const char *by)
{
    struct pt_group group = pt_group_by(profile, by);
    if (!pt_has_outside(by))
        return group;
    uint32_t imports = pt_intern_text(profile, PT_IMPORTS);
    group.apart = pt_alloc(profile->nodes.count, sizeof *group.apart);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        const struct pt_frame *frame = &profile->frames.items[node->frame];
        group.apart[i] =
            frame->kind == PP_FRAME_PYTHON && pt_is_importlib(profile, frame) ? imports : group.apart[node->parent];
    }
    return group;
}

void pt_group_free(struct pt_group *group)
{
    free(group->values);
    free(group->apart);
    *group = (struct pt_group){0};
}

/* Returns, by label set, whether a sample has it; of a profile whose samples were taken out all have been there. The
 * caller frees. */
static bool *used_sets(const struct pt_profile *profile)
{
    bool *used = pt_alloc(profile->label_sets.count, sizeof *used);
    for (uint32_t i = 0; !profile->samples.count && i < profile->label_sets.count; i++)
        used[i] = true;
    for (uint32_t i = 0; profile->label_sets.count > 1 && i < profile->samples.count; i++)
        used[profile->samples.items[i].labels] = true;
    return used;
}

bool pt_has_group(const struct pt_profile *profile, const char *by)
{
    const char *key = key_of(by);
    if (!key || (strcmp(key, PT_COUNTED_BY) == 0 && pt_has_requests(profile)))
        return true;
    PT_AUTO_FREE uint32_t *values = values_by_labels(profile, key);
    bool *used = used_sets(profile), found = false;
    for (uint32_t i = 1; !found && i < profile->label_sets.count; i++)
        found = values[i] && used[i];
    free(used);
    return found;
}

void pt_group_title(struct pt_buffer *text, const char *by)
{
    size_t word = strcspn(by, ":");
    for (size_t i = 0; i < word; i++)
        pt_buffer_format(text, "%c", by[i] - 'a' + 'A');
    if (by[word])
        pt_buffer_format(text, " %s", by + word + 1);
}

void pt_groups_each(const struct pt_profile *profile, void (*each)(void *data, const char *word), void *data)
{
    PT_AUTO_FREE bool *listed = pt_alloc(profile->strings.count, sizeof *listed), *used = used_sets(profile);
    PT_AUTO_BUFFER word = {0};
    for (size_t i = 0; i < CONTEXTS; i++)
        if (pt_has_group(profile, contexts[i].key))
            each(data, contexts[i].key);
    for (uint32_t i = 1; i < profile->label_sets.count; i++) {
        const struct pt_label_set set = profile->label_sets.items[i];
        for (uint32_t j = set.first; used[i] && j < set.first + set.count; j++) {
            uint32_t key = profile->labels.items[j].key;
            if (listed[key] || is_context(pt_string(profile, key)))
                continue;
            listed[key] = true;
            bool trace = profile->request->traces && strcmp(pt_string(profile, key), PT_TRACE_ID) == 0;
            pt_buffer_clear(&word);
            pt_buffer_format(&word, trace ? TRACE : PT_GROUP_OWN "%s", pt_string(profile, key));
            each(data, word.data);
        }
    }
    each(data, "thread");
    each(data, "package");
}

struct list {
    struct pt_buffer *text;
    const char *except;
    bool begun;
};

static void append_word(void *data, const char *word)
{
    struct list *list = data;
    if (strcmp(word, list->except) == 0)
        return;
    pt_buffer_format(list->text, "%s%s", list->begun ? ", " : "", word);
    list->begun = true;
}

void pt_groups_append(struct pt_buffer *text, const struct pt_profile *profile, const char *except)
{
    struct list list = {text, except, false};
    pt_groups_each(profile, append_word, &list);
}

void pt_say_no_group(const struct pt_profile *profile, const char *by)
{
    const char *source = "the program itself";
    PT_AUTO_BUFFER others = {0};
    for (size_t i = 0; i < CONTEXTS; i++)
        if (strcmp(by, contexts[i].key) == 0)
            source = contexts[i].source;
    pt_groups_append(&others, profile, by);
    pt_message_to(profile->request->messages,
                  "--by %s: no sample has one; they come from %s. This profile has: --by %s", by, source, others.data);
}
