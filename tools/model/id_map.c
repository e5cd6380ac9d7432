/* SPDX-License-Identifier: Apache-2.0 */
#include "id_map.h"

#include <stdlib.h>
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "frame_text.h"

static bool has_number(const void *parts, uint32_t item, const void *number)
{
    return ((const struct pt_part *)parts)[item].number == *(const uint64_t *)number;
}

struct pt_part *pt_part_of(const struct pt_process *process, uint64_t number)
{
    uint32_t item =
        pt_index_find(&process->parts.index, pt_hash_words(&number, 1), has_number, process->parts.items, &number);
    return item == PT_NONE ? NULL : &process->parts.items[item];
}

/* Notes that this part was read; returns false if it was noted before. */
static bool note_part(struct pt_process *process, uint64_t number)
{
    if (pt_part_of(process, number))
        return false;
    *PT_APPEND(&process->parts) = (struct pt_part){.number = number};
    pt_index_add(&process->parts.index, pt_hash_words(&number, 1), process->parts.count - 1);
    if (number > process->latest_part)
        process->latest_part = number;
    return true;
}

static uint32_t known(const struct pt_id_map *ids, enum pt_table_kind kind, uint32_t id)
{
    const struct pt_id_table *table = &ids->maps[kind];
    return id < table->capacity ? table->items[id] - 1 : PT_NONE;
}

static uint32_t remember(struct pt_id_map *ids, enum pt_table_kind kind, uint32_t id, uint32_t number)
{
    struct pt_id_table *table = &ids->maps[kind];
    table->items = pt_grow(table->items, &table->capacity, (uint64_t)id + 1, sizeof *table->items);
    table->items[id] = number + 1;
    return number;
}

uint32_t pt_id_map_string(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id)
{
    uint32_t number = known(ids, PT_TABLE_STRINGS, id);
    if (number != PT_NONE)
        return number;
    if (!pt_segment_find(segment, PT_TABLE_STRINGS, id))
        return 0;
    struct pt_text text = pt_segment_string(segment, id);
    return remember(ids, PT_TABLE_STRINGS, id, pt_intern(ids->profile, text.data, text.length));
}

uint32_t pt_id_map_intern(struct pt_id_map *ids, struct pt_text text)
{
    return text.length ? pt_intern(ids->profile, text.data, text.length) : 0;
}

uint32_t pt_id_map_command_line(struct pt_id_map *ids, struct pt_text text)
{
    PT_AUTO_BUFFER line = {0};
    for (size_t at = 0; at < text.length;) {
        const char *word = text.data + at;
        size_t length = strnlen(word, text.length - at);
        bool quote = !length || memchr(word, ' ', length) || memchr(word, '\n', length);
        if (line.length)
            pt_buffer_text(&line, " ");
        if (quote)
            pt_buffer_text(&line, "'");
        pt_buffer_append(&line, word, length);
        if (quote)
            pt_buffer_text(&line, "'");
        at += length + 1;
    }
    return line.length ? pt_intern(ids->profile, line.data, line.length) : 0;
}

struct pt_process *pt_id_map_process(struct pt_id_map *ids, const struct pt_segment *segment)
{
    struct pt_profile *profile = ids->profile;
    if (ids->process != PT_NONE)
        return &profile->processes.items[ids->process];
    const struct pt_log_process *from = &segment->process;
    uint32_t instance = pt_id_map_intern(ids, from->instance);
    if (!instance)
        instance = pt_intern_text(profile, ids->name);
    ids->process = pt_add_process(profile, instance);
    struct pt_process *process = &profile->processes.items[ids->process];
    /* The same segment again (a file and a merged one that holds it) must not count twice. */
    ids->skipped = segment->has_process && from->instance.length && !note_part(process, from->segment);
    process->segments += !ids->skipped;
    ids->alone = process->segments == 1;
    if (!segment->has_process || process->pid)
        return process;
#define X(key, field)                                                                                                  \
    process->field = PP_PROCESS_##key == PP_PROCESS_COMMAND_LINE ? pt_id_map_command_line(ids, from->field)            \
                                                                 : pt_id_map_intern(ids, from->field);
    PT_PROCESS_TEXTS(X)
#undef X
    process->instance = instance;
#define X(key, field) process->field = from->field;
    PT_PROCESS_NUMBERS(X)
#undef X
    for (uint32_t i = 0; profile->earlier && i < profile->earlier->processes.count; i++) {
        const struct pt_process *same = &profile->earlier->processes.items[i];
        if (strcmp(pt_string(profile->earlier, same->instance), pt_string(profile, instance)) == 0)
            process->ready = same->ready;
    }
    return process;
}

static uint32_t module_number(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id, uint64_t *bias)
{
    uint32_t number = known(ids, PT_TABLE_MODULES, id);
    *bias = number != PT_NONE ? ids->biases[id] : 0;
    const struct pt_log_module *from = number != PT_NONE ? NULL : pt_segment_find(segment, PT_TABLE_MODULES, id);
    if (!from)
        return number;
    ids->biases = pt_grow(ids->biases, &ids->bias_capacity, (uint64_t)id + 1, sizeof *ids->biases);
    *bias = ids->biases[id] = from->bias;
    PT_AUTO_FREE char *build_id = pt_hex(from->build_id.data, from->build_id.length);
    struct pt_module module = {
        .path = pt_id_map_string(ids, segment, from->path),
        .build_id = pt_intern_text(ids->profile, build_id),
        .start = from->text_start - from->bias,
        .limit = from->text_end - from->bias,
        .file_offset = from->text_file_offset,
        .flags = from->flags,
    };
    return remember(ids, PT_TABLE_MODULES, id, pt_add_module(ids->profile, &module));
}

static uint32_t function_number(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id)
{
    uint32_t number = known(ids, PT_TABLE_CODES, id);
    if (number != PT_NONE)
        return number;
    const struct pt_log_code *code = pt_segment_find(segment, PT_TABLE_CODES, id);
    if (!code)
        return PT_NONE;
    struct pt_function function = {
        .name = pt_id_map_string(ids, segment, code->qualname),
        .file = pt_id_map_string(ids, segment, code->file),
        .first_line = code->first_line,
    };
    const char *cwd = pt_string(ids->profile, pt_id_map_process(ids, segment)->cwd);
    function.short_file = pt_intern_text(ids->profile, pt_short_path(pt_string(ids->profile, function.file), cwd));
    return remember(ids, PT_TABLE_CODES, id, pt_add_function(ids->profile, &function));
}

static uint32_t frame_number(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id)
{
    uint32_t number = known(ids, PT_TABLE_FRAMES, id);
    if (number != PT_NONE)
        return number;
    const struct pt_log_frame *from = pt_segment_find(segment, PT_TABLE_FRAMES, id);
    struct pt_frame frame = {.kind = from ? from->kind : 0, .subject = PT_NONE};
    uint64_t bias = 0;
    if (frame.kind == PP_FRAME_NATIVE) {
        frame.subject = module_number(ids, segment, from->subject, &bias);
        frame.address = from->address - bias;
        frame.symbol = pt_id_map_string(ids, segment, from->symbol);
        frame.symbol_offset = from->symbol_offset;
    } else if (frame.kind == PP_FRAME_PYTHON) {
        frame.subject = function_number(ids, segment, from->subject);
        frame.line = from->line;
        /* only as a whole, and only what is possible: no other place checks it again */
        bool ordered =
            from->end_line > from->line || (from->end_line == from->line && from->end_column >= from->column);
        if (from->line && from->column && from->end_column && ordered) {
            frame.end_line = from->end_line;
            frame.column = from->column;
            frame.end_column = from->end_column;
        }
    } else if (frame.kind == PP_FRAME_PSEUDO) {
        frame.subject = pt_id_map_string(ids, segment, from->subject);
    }
    bool whole = frame.kind == PP_FRAME_NATIVE || (frame.kind == PP_FRAME_PYTHON && frame.subject != PT_NONE) ||
                 (frame.kind == PP_FRAME_PSEUDO && frame.subject);
    number = whole ? pt_add_frame(ids->profile, &frame)
                   : pt_add_pseudo(ids->profile, from && frame.kind > PP_FRAME_PSEUDO ? PP_PSEUDO_FRAME_OF_UNKNOWN
                                                                                      : PP_PSEUDO_FRAME_LOST);
    return from ? remember(ids, PT_TABLE_FRAMES, id, number) : number;
}

/* Climbs to the nearest ancestor that has a number, then down again; every step is remembered, so that all calls
 * together are linear in the number of nodes. */
uint32_t pt_id_map_node(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id)
{
    uint32_t depth = 0, number = PT_NONE;
    while (id && (number = known(ids, PT_TABLE_NODES, id)) == PT_NONE) {
        const struct pt_log_node *node = pt_segment_find(segment, PT_TABLE_NODES, id);
        if (!node) {
            number = pt_add_node(ids->profile, 0, pt_add_pseudo(ids->profile, PP_PSEUDO_STACK_LOST));
            break;
        }
        ids->path = pt_grow(ids->path, &ids->path_capacity, (uint64_t)depth + 1, sizeof *ids->path);
        ids->path[depth++] = id;
        id = node->parent;
    }
    if (!id)
        number = depth ? 0 : pt_add_node(ids->profile, 0, pt_add_pseudo(ids->profile, PP_PSEUDO_NO_STACK));
    while (depth--) {
        const struct pt_log_node *node = pt_segment_find(segment, PT_TABLE_NODES, ids->path[depth]);
        number = pt_add_node(ids->profile, number, frame_number(ids, segment, node->frame));
        remember(ids, PT_TABLE_NODES, ids->path[depth], number);
    }
    return number;
}

uint32_t pt_id_map_thread(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id)
{
    uint32_t number = known(ids, PT_TABLE_THREADS, id);
    if (number != PT_NONE)
        return number;
    pt_id_map_process(ids, segment);
    struct pt_thread thread = {.process = ids->process};
    const struct pt_log_thread *from = pt_segment_find(segment, PT_TABLE_THREADS, id);
    if (!id) {
        thread.name = pt_intern_text(ids->profile, "(process)");
    } else if (!from) {
        thread.tid = UINT64_MAX; /* one for all that are unknown: no kernel gives this tid */
        thread.name = pt_intern_text(ids->profile, "(thread lost in a damaged block)");
    } else {
        thread.tid = from->tid;
        thread.name = pt_id_map_string(ids, segment, from->name);
        thread.start_unix_ns = from->start_unix_ns;
        thread.flags = from->flags;
    }
    number = pt_add_thread(ids->profile, &thread);
    return id && !from ? number : remember(ids, PT_TABLE_THREADS, id, number);
}

uint32_t pt_id_map_label_set(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id)
{
    if (!id)
        return 0;
    uint32_t number = known(ids, PT_TABLE_LABELS, id);
    const struct pt_log_labels *from = number != PT_NONE ? NULL : pt_segment_find(segment, PT_TABLE_LABELS, id);
    if (!from)
        return number != PT_NONE ? number : 0;
    PT_AUTO_FREE struct pt_label *labels = NULL;
    uint32_t count = 0, capacity = 0;
    struct pt_cursor pairs = pt_cursor(from->pairs.data, from->pairs.length);
    while (pt_left(&pairs)) {
        uint64_t key = pt_read_varint(&pairs);
        uint64_t value = pt_read_varint(&pairs);
        if (pairs.bad || key >= PT_NONE || value >= PT_NONE)
            break;
        labels = pt_grow(labels, &capacity, (uint64_t)count + 1, sizeof *labels);
        labels[count++] = (struct pt_label){pt_id_map_string(ids, segment, (uint32_t)key),
                                            pt_id_map_string(ids, segment, (uint32_t)value)};
    }
    number = pt_add_label_set(ids->profile, labels, count);
    return remember(ids, PT_TABLE_LABELS, id, number);
}

static void map_kind(struct pt_id_map *ids, const struct pt_segment *segment, enum pt_table_kind kind,
                     uint32_t (*map)(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id))
{
    const struct pt_log_table *table = &segment->tables[kind];
    for (uint32_t id = table->first; id < table->end; id++)
        if (pt_segment_find(segment, kind, id))
            map(ids, segment, id);
}

void pt_id_map_samples(struct pt_id_map *ids, const struct pt_segment *segment, const struct pt_log_sample *from,
                       uint32_t count, uint32_t thread, struct pt_log_sample *to)
{
    bool stacks = !ids->profile->request->no_stacks;
    for (uint32_t i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].thread = thread;
        to[i].node = stacks ? known(ids, PT_TABLE_NODES, from[i].node) : 0;
        if (to[i].node == PT_NONE)
            to[i].node = pt_id_map_node(ids, segment, from[i].node);
        to[i].labels = from[i].labels ? pt_id_map_label_set(ids, segment, from[i].labels) : 0;
    }
}

static uint32_t map_module(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id)
{
    uint64_t bias;
    return module_number(ids, segment, id, &bias);
}

void pt_id_map_all(struct pt_id_map *ids, const struct pt_segment *segment, bool stacks)
{
    map_kind(ids, segment, PT_TABLE_STRINGS, pt_id_map_string);
    map_kind(ids, segment, PT_TABLE_LABELS, pt_id_map_label_set);
    if (!stacks)
        return;
    map_kind(ids, segment, PT_TABLE_MODULES, map_module);
    map_kind(ids, segment, PT_TABLE_CODES, function_number);
    map_kind(ids, segment, PT_TABLE_FRAMES, frame_number);
    map_kind(ids, segment, PT_TABLE_NODES, pt_id_map_node);
}

void pt_id_map_forget(struct pt_id_map *ids, enum pt_table_kind kind, uint32_t id)
{
    if (id < ids->maps[kind].capacity)
        ids->maps[kind].items[id] = 0;
}

void pt_id_map_move(struct pt_id_map *ids, struct pt_profile *profile, const uint32_t *processes,
                    const uint32_t *const numbers[PT_TABLE_COUNT])
{
    ids->profile = profile;
    if (ids->process != PT_NONE)
        ids->process = processes[ids->process];
    for (int kind = 0; kind < PT_TABLE_COUNT; kind++)
        for (uint32_t id = 0; id < ids->maps[kind].capacity; id++)
            if (ids->maps[kind].items[id])
                ids->maps[kind].items[id] = numbers[kind][ids->maps[kind].items[id] - 1] + 1;
}

void pt_id_map_free(struct pt_id_map *ids)
{
    for (int kind = 0; kind < PT_TABLE_COUNT; kind++)
        free(ids->maps[kind].items);
    free(ids->biases);
    free(ids->path);
    ids->path = NULL;
}
