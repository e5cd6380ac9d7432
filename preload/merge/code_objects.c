/* SPDX-License-Identifier: Apache-2.0 */
#include "code_objects.h"
#include "../base/message.h"
#include "../capture/capture.h"
#include "record_text.h"
#include <string.h>

/* Bytes; two generations at most. */
#define GENERATION_MAX ((size_t)32 << 20)
#define GENERATION_MIN ((size_t)2 << 20)
/* A generation is this many times what lasts: each change costs a definition of all that is in use. */
#define GENERATION_SHARE 4
#define NAME_MAX_BYTES   4096

static struct generation {
    struct pp_arena arena;
    struct pp_intern by_content; /* value[0]: address of the struct pp_code */
    size_t lasting_bytes;
} generations[2];

static uint32_t interval = 1; /* counts flushes */
static uint64_t changes;

static struct generation *generation_of(uint32_t epoch)
{
    struct generation *generation = &generations[epoch & 1];
    if (!generation->by_content.arena)
        pp_intern_init(&generation->by_content, &generation->arena);
    return generation;
}

static void forget(struct generation *generation)
{
    pp_arena_reset(&generation->arena);
    memset(generation, 0, sizeof *generation);
}

/* Copies a str's characters as UTF-8 into the arena. */
static const char *text_to_utf8(struct pp_arena *arena, const struct pp_record_text *text, const uint8_t *characters,
                                uint32_t *length)
{
    char utf8[NAME_MAX_BYTES];
    size_t n = pp_record_text_utf8(utf8, sizeof utf8, text, characters);
    char *copy = pp_arena_alloc(arena, n + 1);
    if (copy)
        memcpy(copy, utf8, n);
    *length = (uint32_t)n;
    return copy;
}

/* Names a function of Jinja's as Jinja does in a traceback; of other functions, macros among them, it gives no name. */
static void name_as_jinja(struct pp_arena *arena, struct pp_code *code)
{
    static const char block[] = "block_";
    char text[NAME_MAX_BYTES];
    const char *name = NULL;
    if (strcmp(code->qualname, "root") == 0)
        name = "top-level template code";
    else if (strncmp(code->qualname, block, sizeof block - 1) == 0 && !strchr(code->qualname, '.'))
        name = pp_format(text, sizeof text, "block '%s'", code->qualname + sizeof block - 1);
    size_t size = name ? strlen(name) + 1 : 0;
    char *copy = name ? pp_arena_alloc(arena, size) : NULL;
    if (!copy)
        return;
    code->qualname = memcpy(copy, name, size);
    code->qualname_length = (uint32_t)size - 1;
}

/* Puts a function of Mako's into its template; a def or a block has the name that it has there. */
static void place_as_mako(struct generation *generation, struct pp_code *code)
{
    static struct pp_mako_map map;
    bool fresh;
    if (!pp_mako_map_read(&map, code->qualname, code->filename))
        return;
    /* functions of a template share the text of its lines: no definition equals it */
    uint32_t length, number = pp_intern(&generation->by_content, map.lines.text, map.lines.size, &fresh);
    const struct pp_record_text path = {.bytes = map.path_length * 2, .width = 2};
    const char *filename = text_to_utf8(&generation->arena, &path, (const uint8_t *)map.path, &length);
    if (!number || !filename)
        return;
    map.lines.text = pp_intern_key(pp_intern_entry(&generation->by_content, number));
    code->template_lines = map.lines;
    code->filename = filename;
    code->filename_length = length;
    code->bytes += map.lines.size;
    bool named = strncmp(code->qualname, "render_", 7) == 0 && strncmp(code->qualname, "render_body", 11) != 0;
    code->qualname += named ? 7 : 0;
    code->qualname_length -= named ? 7 : 0;
}

/* table: the record's line table, in memory of the generation. */
static struct pp_code *new_code(struct generation *generation, const struct pp_record_code *record,
                                const uint8_t *table)
{
    static uint32_t serial;
    struct pp_arena *arena = &generation->arena;
    struct pp_code *code = pp_arena_alloc(arena, sizeof *code);
    if (!code)
        return NULL;
    code->serial = ++serial;
    const uint8_t *in = (const uint8_t *)(record + 1);
    code->qualname = text_to_utf8(arena, &record->qualname, in, &code->qualname_length);
    in += record->qualname.bytes;
    code->filename = text_to_utf8(arena, &record->filename, in, &code->filename_length);
    code->line_table_format = record->line_table_format;
    code->first_line = record->first_line;
    code->first_traceable = record->first_traceable;
    code->flags = record->flags;
    code->line_table_bytes = record->line_table_bytes;
    code->line_table = table;
    if (!code->qualname || !code->filename)
        return NULL;
    if (record->template_lines.width == 1 &&
        pp_template_lines_valid((const char *)table + record->line_table_bytes, record->template_lines.bytes)) {
        code->template_lines =
            (struct pp_template_lines){(const char *)table + record->line_table_bytes, record->template_lines.bytes,
                                       record->template_lines.cut, record->template_extends != 0};
        name_as_jinja(arena, code);
    }
    code->bytes = (uint32_t)sizeof *code + record->header.size + code->qualname_length + code->filename_length;
    place_as_mako(generation, code);
    code->is_init_cleanup = strcmp(code->qualname, "__init__") == 0 && strcmp(code->filename, "__init__") == 0;
    return code;
}

void pp_codes_define(struct pp_slot *slot, const struct pp_record_code *record)
{
    uint32_t *entry_number = &slot->code_numbers[record->entry];
    changes += *entry_number != 0; /* else no stack has had it */
    *entry_number = 0;
    struct generation *generation = generation_of(record->epoch);
    /* what the definition says, without the cache entry it is for */
    size_t skip = offsetof(struct pp_record_code, line_table_format);
    bool fresh;
    uint32_t number =
        pp_intern(&generation->by_content, (const char *)record + skip, record->header.size - (uint32_t)skip, &fresh);
    if (!number)
        return;
    if (fresh) {
        struct pp_intern_entry *entry = pp_intern_entry(&generation->by_content, number);
        size_t table = sizeof *record - skip + record->qualname.bytes + record->filename.bytes;
        entry->value[0] = (uintptr_t)new_code(generation, record, (const uint8_t *)pp_intern_key(entry) + table);
    }
    *entry_number = number;
}

struct pp_code *pp_codes_find(struct pp_slot *slot, uint32_t epoch, uint32_t entry, uint32_t *number)
{
    if (entry >= pp_slot_code_numbers(slot))
        return NULL;
    *number = slot->code_numbers[entry];
    changes += !*number; /* it may be defined later */
    return pp_codes_at(epoch, *number);
}

struct pp_code *pp_codes_at(uint32_t epoch, uint32_t number)
{
    if (atomic_load(&pp_capture.code_epoch) - epoch > 1)
        return NULL;
    struct generation *generation = generation_of(epoch);
    bool known = number && number <= generation->by_content.count;
    struct pp_code *code =
        known ? (struct pp_code *)(uintptr_t)pp_intern_entry(&generation->by_content, number)->value[0] : NULL;
    if (code && code->last_seen != interval) {
        if (code->last_seen && !code->lasting) {
            code->lasting = true;
            generation->lasting_bytes += code->bytes;
        }
        code->last_seen = interval;
    }
    return code;
}

static size_t limit_of(const struct generation *generation)
{
    size_t limit = GENERATION_SHARE * generation->lasting_bytes;
    return limit < GENERATION_MIN ? GENERATION_MIN : limit > GENERATION_MAX ? GENERATION_MAX : limit;
}

void pp_codes_limit(void)
{
    uint32_t epoch = atomic_load(&pp_capture.code_epoch);
    interval++;
    changes++;
    if (generations[epoch & 1].arena.mapped < limit_of(&generations[epoch & 1]))
        return;
    forget(&generations[(epoch + 1) & 1]);
    atomic_store(&pp_capture.code_epoch, epoch + 1);
}

uint64_t pp_codes_changes(void)
{
    return changes;
}

void pp_codes_reset(void)
{
    changes++;
    forget(&generations[0]);
    forget(&generations[1]);
    /* handlers clear their caches: what they defined is not known here any more */
    atomic_fetch_add(&pp_capture.code_epoch, 2);
}
