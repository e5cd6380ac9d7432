/* SPDX-License-Identifier: Apache-2.0 */
#include "contexts.h"
#include "../account/interval_data.h"
#include "../base/arena.h"
#include "../base/message.h"
#include "../common/label_kinds.h"
#include "../log/label_sets.h"
#include "../merge/awaiting.h"
#include "../merge/record_text.h"
#include "app_labels.h"
#include <string.h>

struct pp_context_texts {
    char texts[PP_CONTEXT_KINDS][PP_CONTEXT_TEXT_BYTES];
    char app_labels[PP_APP_LABELS_BYTES]; /* of the application: keys and values in turn, with a NUL after each, */
    uint32_t app_length;
    uint64_t trace_id[2], span_id; /* the lower 64 bits first */
    struct pp_awaiting awaiting[PP_MAX_AWAITERS];
};

static const char *const keys[PP_CONTEXT_AWAITER] = {
    [PP_CONTEXT_TASK] = PP_KEY_TASK, [PP_CONTEXT_GREENLET] = PP_KEY_GREENLET, [PP_CONTEXT_ENDPOINT] = PP_KEY_ENDPOINT,
    [PP_CONTEXT_SPAN] = PP_KEY_SPAN, [PP_CONTEXT_JOB] = PP_KEY_TASK,          [PP_CONTEXT_TEST] = PP_KEY_TEST,
};

/* Makes "file.py:20" of the end of a path. */
static void shorten_site(char *text, uint32_t line)
{
    const char *slash = strrchr(text, '/');
    char file[PP_CONTEXT_TEXT_BYTES];
    pp_format(file, sizeof file, "%s", slash ? slash + 1 : text);
    pp_format(text, PP_CONTEXT_TEXT_BYTES, "%s:%u", file, line);
}

void pp_contexts_consume(struct pp_slot *slot, const struct pp_record_context *record)
{
    uint32_t bit = 1u << record->kind;
    slot->flush.labels_segment = 0;
    slot->flush.contexts &= ~bit;
    if (!slot->texts)
        slot->texts = pp_map(sizeof *slot->texts);
    if (!record->identity || !slot->texts)
        return;
    slot->awaiting = slot->texts->awaiting;
    char *text = slot->texts->texts[record->kind];
    const uint8_t *characters = (const uint8_t *)(record + 1) + record->frames * sizeof(struct pp_record_frame);
    if (record->kind == PP_CONTEXT_LABELS)
        slot->texts->app_length = pp_app_labels(slot->texts->app_labels, (const char *)(record + 1), &record->text);
    else
        text[pp_record_text_utf8(text, PP_CONTEXT_TEXT_BYTES - 1, &record->text, characters)] = 0;
    if (record->kind == PP_CONTEXT_JOB)
        text[strcspn(text, "\n")] = 0; /* a cell's name is its first line */
    if (record->kind >= PP_CONTEXT_AWAITER)
        pp_awaiting_add(slot, &slot->texts->awaiting[record->kind - PP_CONTEXT_AWAITER], record);
    if (record->kind == PP_CONTEXT_SPAWN)
        shorten_site(text, (uint32_t)record->identity);
    if (record->kind == PP_CONTEXT_SPAN) {
        memcpy(slot->texts->trace_id, record->trace_id, sizeof record->trace_id);
        slot->texts->span_id = record->no_id ? 0 : record->identity;
    }
    slot->flush.contexts |= bit;
}

static void put_big_endian(uint8_t *out, uint64_t number)
{
    for (unsigned i = 0; i < sizeof number; i++)
        out[i] = (uint8_t)(number >> (56 - 8 * i));
}

void pp_contexts_trace(const struct pp_slot *slot, uint8_t ids[PP_TRACE_IDS_BYTES])
{
    put_big_endian(ids, slot->texts->trace_id[1]);
    put_big_endian(ids + 8, slot->texts->trace_id[0]);
    put_big_endian(ids + 16, slot->texts->span_id);
}

/* A label set that is being made. */
struct set {
    char bytes[PP_LABELS_BYTES];
    uint32_t length;
};

static void add_text(struct set *set, const char *text)
{
    size_t bytes = strlen(text) + 1;
    memcpy(set->bytes + set->length, text, bytes);
    set->length += (uint32_t)bytes;
}

static void add(struct set *set, const char *key, const char *value)
{
    if (!*value || set->length + strlen(key) + strlen(value) + 2 > sizeof set->bytes)
        return;
    add_text(set, key);
    add_text(set, value);
}

/* Returns the value of a kind; a greenlet's is what it runs, and where it was spawned if that is known. */
static const char *value_of(const struct pp_context_texts *texts, unsigned kind, uint32_t known)
{
    static char spawned[2 * PP_CONTEXT_TEXT_BYTES + 16];
    if (kind != PP_CONTEXT_GREENLET || !(known & 1u << PP_CONTEXT_SPAWN))
        return texts->texts[kind];
    pp_format(spawned, sizeof spawned, "%s (spawned at %s)", texts->texts[kind], texts->texts[PP_CONTEXT_SPAWN]);
    return spawned;
}

/* Returns the key that follows in the application's labels, NULL at their end; *value: its value. */
static const char *next_app_label(const struct pp_context_texts *texts, uint32_t *at, const char **value)
{
    const char *key = texts->app_labels + *at;
    if (*at >= texts->app_length)
        return NULL;
    *value = key + strlen(key) + 1;
    *at += (uint32_t)(strlen(key) + strlen(*value) + 2);
    return key;
}

static bool is_app_label(const struct pp_context_texts *texts, bool has_app_labels, const char *wanted)
{
    uint32_t at = 0;
    const char *key, *value;
    while (has_app_labels && (key = next_app_label(texts, &at, &value)) != NULL)
        if (strcmp(key, wanted) == 0)
            return true;
    return false;
}

/* Adds the labels of the contexts for which the application has no label, and the application's labels. */
static void add_all(struct set *set, const struct pp_context_texts *texts, uint32_t known)
{
    bool has_app_labels = known & 1u << PP_CONTEXT_LABELS;
    const char *key, *value;
    uint32_t at = 0;
    if (known & 1u << PP_CONTEXT_JOB)
        known &= ~(1u << PP_CONTEXT_TASK); /* the scheduler's own */
    for (unsigned kind = 0; kind < PP_CONTEXT_AWAITER; kind++)
        if (keys[kind] && known & 1u << kind && !is_app_label(texts, has_app_labels, keys[kind]))
            add(set, keys[kind], value_of(texts, kind, known));
    for (unsigned kind = PP_CONTEXT_AWAITER; kind < PP_CONTEXT_KINDS && known & 1u << kind; kind++)
        add(set, PP_KEY_AWAITER, texts->texts[kind]);
    while (has_app_labels && (key = next_app_label(texts, &at, &value)) != NULL)
        add(set, key, value);
}

uint32_t pp_contexts_labels(struct pp_slot *slot, uint32_t known)
{
    static struct set set;
    struct pp_slot_flush *flush = &slot->flush;
    known &= flush->contexts;
    if (!known)
        return 0;
    if (flush->labels_segment == pp_interval.tables.segment && flush->labels_known == known)
        return flush->labels;
    set.length = 0;
    add_all(&set, slot->texts, known);
    flush->labels = set.length ? pp_labels_id(&pp_interval.tables, set.bytes, set.length) : 0;
    flush->labels_known = known;
    flush->labels_segment = pp_interval.tables.segment;
    return flush->labels;
}
