/* SPDX-License-Identifier: Apache-2.0 */
#include "segment_tables.h"

#include "../base/memory.h"

/* `least` is the number of bytes that a definition takes in a log at the very least: no id can be higher than the
 * file's size over this, unless blocks were never written (FEW_IDS leaves room for that). Keeps forged ids from
 * claiming memory. */
#define TABLE(type, least)                                                                                             \
    {                                                                                                                  \
        sizeof(struct type), offsetof(struct type, defined), least                                                     \
    }
static const struct {
    size_t size, defined;
    uint32_t least;
} tables[PT_TABLE_COUNT] = {
    [PT_TABLE_STRINGS] = TABLE(pt_log_string, 1), [PT_TABLE_MODULES] = TABLE(pt_log_module, 8),
    [PT_TABLE_CODES] = TABLE(pt_log_code, 4),     [PT_TABLE_FRAMES] = TABLE(pt_log_frame, 3),
    [PT_TABLE_NODES] = TABLE(pt_log_node, 2),     [PT_TABLE_THREADS] = TABLE(pt_log_thread, 5),
    [PT_TABLE_LABELS] = TABLE(pt_log_labels, 1),
};
#define FEW_IDS   (1u << 16)
#define FEW_BYTES 4096u

const uint8_t *pt_keep(struct pt_kept **list, const void *payload, size_t length)
{
    struct pt_kept *kept = pt_alloc(1, sizeof *kept + length);
    if (length)
        memcpy(kept->payload, payload, length);
    kept->before = *list;
    *list = kept;
    return kept->payload;
}

void pt_free_kept(struct pt_kept **list)
{
    for (struct pt_kept *kept = *list, *before; kept; kept = before) {
        before = kept->before;
        free(kept);
    }
    *list = NULL;
}

static uint32_t highest_id(const struct pt_segment *segment, enum pt_table_kind kind)
{
    uint64_t highest = (segment->size + segment->inflated) / tables[kind].least;
    if (highest < FEW_IDS)
        return FEW_IDS;
    return highest < PT_NONE - 2 ? (uint32_t)highest : PT_NONE - 2;
}

static bool is_defined(const struct pt_segment *segment, enum pt_table_kind kind, uint32_t id)
{
    const struct pt_log_table *table = &segment->tables[kind];
    return id && id >= table->first && id < table->end &&
           ((const bool *)table->items)[(id - table->first) * tables[kind].size + tables[kind].defined];
}

const void *pt_segment_find(const struct pt_segment *segment, enum pt_table_kind kind, uint64_t id)
{
    if (id > highest_id(segment, kind) || !is_defined(segment, kind, (uint32_t)id))
        return NULL;
    return (const char *)segment->tables[kind].items + (id - segment->tables[kind].first) * tables[kind].size;
}

struct pt_text pt_segment_string(const struct pt_segment *segment, uint64_t id)
{
    const struct pt_log_string *string = pt_segment_find(segment, PT_TABLE_STRINGS, id);
    return string ? string->text : (struct pt_text){"", 0};
}

/* Makes room for the ids that were released: few logs define them again. */
static void begin_at_zero(struct pt_log_table *table, size_t size)
{
    char *items = pt_alloc(table->end, size);
    if (table->end > table->first)
        memcpy(items + table->first * size, table->items, (table->end - table->first) * size);
    free(table->items);
    table->items = items;
    table->capacity = table->end;
    table->first = 0;
}

/* Returns the place for a definition; NULL if the id is impossible. */
static void *define(struct pt_segment *segment, enum pt_table_kind kind, uint64_t id,
                    const struct pt_segment_sink *sink)
{
    if (!id || id > highest_id(segment, kind))
        return NULL;
    struct pt_log_table *table = &segment->tables[kind];
    if (id < table->first)
        begin_at_zero(table, tables[kind].size);
    table->items = pt_grow(table->items, &table->capacity, id + 1 - table->first, tables[kind].size);
    if ((id < table->released || is_defined(segment, kind, (uint32_t)id)) && sink && sink->redefined)
        sink->redefined(sink->data, segment, kind, (uint32_t)id);
    if (id >= table->end)
        table->end = (uint32_t)id + 1;
    return (char *)table->items + (id - table->first) * tables[kind].size;
}

static void say_defined(const struct pt_segment *segment, enum pt_table_kind kind, uint64_t id,
                        const struct pt_segment_sink *sink)
{
    if (sink && sink->defined)
        sink->defined(sink->data, segment, kind, (uint32_t)id);
}

static struct pt_text rest(const struct pt_cursor *cursor)
{
    return (struct pt_text){(const char *)cursor->at, pt_left(cursor)};
}

static void parse_module(struct pt_cursor *record, struct pt_log_module *module)
{
    module->path = pt_read_id(record);
    module->bias = pt_read_varint(record);
    module->text_start = pt_read_varint(record);
    module->text_end = pt_read_varint(record);
    module->text_file_offset = pt_read_varint(record);
    module->flags = pt_read_small(record);
    uint64_t length = pt_read_varint(record);
    struct pt_cursor build_id = pt_read_part(record, length);
    module->build_id = rest(&build_id);
    module->defined = true;
}

/* Frames of other kinds are of a newer writer: they are shown as unknown. */
static void parse_frame(struct pt_cursor *record, struct pt_log_frame *frame)
{
    frame->defined = true;
    frame->kind = pt_read_small(record);
    if (frame->kind >= PP_FRAME_NATIVE && frame->kind <= PP_FRAME_PSEUDO)
        frame->subject = pt_read_id(record);
    if (frame->kind == PP_FRAME_NATIVE) {
        frame->address = pt_read_varint(record);
        frame->symbol = pt_read_id(record);
        frame->symbol_offset = pt_read_varint(record);
    } else if (frame->kind == PP_FRAME_PYTHON) {
        frame->line = pt_read_small(record);
        if (pt_left(record)) { /* columns: not known to every version of CPython, nor to older logs */
            frame->end_line = pt_read_small(record);
            frame->column = pt_read_small(record);
            frame->end_column = pt_read_small(record);
        }
    }
}

/* Decodes one record of the kind and, when it is well-formed, puts it into the table. */
static bool parse_definition(struct pt_segment *segment, enum pt_table_kind kind, uint64_t id, struct pt_cursor record,
                             const struct pt_segment_sink *sink)
{
    union {
        struct pt_log_string string;
        struct pt_log_module module;
        struct pt_log_code code;
        struct pt_log_frame frame;
        struct pt_log_thread thread;
        struct pt_log_labels labels;
    } item = {0};
    switch (kind) {
    case PT_TABLE_STRINGS:
        item.string = (struct pt_log_string){rest(&record), true};
        break;
    case PT_TABLE_MODULES:
        parse_module(&record, &item.module);
        break;
    case PT_TABLE_CODES:
        item.code.qualname = pt_read_id(&record);
        item.code.file = pt_read_id(&record);
        item.code.first_line = pt_read_small(&record);
        item.code.defined = true;
        break;
    case PT_TABLE_FRAMES:
        parse_frame(&record, &item.frame);
        break;
    case PT_TABLE_THREADS:
        item.thread.tid = pt_read_varint(&record);
        item.thread.name = pt_read_id(&record);
        item.thread.start_unix_ns = pt_read_varint(&record);
        item.thread.flags = pt_read_small(&record);
        item.thread.defined = true;
        break;
    case PT_TABLE_LABELS:
        item.labels = (struct pt_log_labels){rest(&record), true};
        break;
    case PT_TABLE_NODES:
    case PT_TABLE_COUNT:
        return false;
    }
    if (record.bad)
        return false;
    void *place = define(segment, kind, id, sink);
    if (!place)
        return false;
    __builtin_memcpy(place, &item, tables[kind].size);
    say_defined(segment, kind, id, sink);
    return true;
}

static void parse_definitions(struct pt_segment *segment, enum pt_table_kind kind, struct pt_cursor *payload,
                              const struct pt_segment_sink *sink)
{
    for (uint64_t id = pt_read_varint(payload); pt_left(payload); id++) {
        uint64_t length = pt_read_varint(payload);
        struct pt_cursor record = pt_read_part(payload, length);
        if (payload->bad || !parse_definition(segment, kind, id, record, sink))
            segment->losses.damaged_records++;
    }
}

static void parse_nodes(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink)
{
    for (uint64_t id = pt_read_varint(payload); pt_left(payload); id++) {
        uint64_t back = pt_read_varint(payload);
        uint32_t frame = pt_read_id(payload);
        bool sound = !payload->bad && back && back <= id;
        struct pt_log_node *node = sound ? define(segment, PT_TABLE_NODES, id, sink) : NULL;
        if (!node) {
            segment->losses.damaged_records++;
            continue;
        }
        *node = (struct pt_log_node){(uint32_t)(id - back), frame, true};
        say_defined(segment, PT_TABLE_NODES, id, sink);
    }
}

static void parse_requests(struct pt_segment *segment, struct pt_cursor *payload, const struct pt_segment_sink *sink)
{
    struct pt_log_requests requests = {.start_unix_ns = pt_read_varint(payload)};
    requests.wall_ns = pt_read_varint(payload);
    while (pt_left(payload)) {
        uint64_t length = pt_read_varint(payload);
        struct pt_cursor record = pt_read_part(payload, length);
        requests.endpoint = pt_read_id(&record);
        requests.sums.count = pt_read_varint(&record);
        requests.sums.measured = pt_read_varint(&record);
        requests.sums.cpu_ns = pt_read_varint(&record);
        for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
            requests.sums.buckets[i] = pt_read_varint(&record);
        if (payload->bad || record.bad)
            segment->losses.damaged_records++;
        else if (sink && sink->requests)
            sink->requests(sink->data, segment, &requests);
    }
}

/* A process that gives itself a title again and again repeats its texts: of those that are no longer referred to not
 * more is kept than of the others. */
static void tidy_texts(struct pt_segment *segment)
{
    struct pt_log_process *process = &segment->process;
#define X(key, field) &process->field,
    struct pt_text *const texts[] = {PT_PROCESS_TEXTS(X)};
#undef X
    PT_AUTO_BUFFER copy = {0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        pt_buffer_append(&copy, texts[i]->data, texts[i]->length);
    if (segment->text_bytes <= 2 * copy.length + FEW_BYTES)
        return;
    struct pt_kept *before = segment->texts;
    segment->texts = NULL;
    const char *at = (const char *)pt_keep(&segment->texts, copy.data, copy.length);
    segment->text_bytes = copy.length;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; at += texts[i++]->length)
        texts[i]->data = at;
    pt_free_kept(&before);
}

static void parse_process(struct pt_segment *segment, struct pt_cursor *payload)
{
    struct pt_log_process *process = &segment->process;
#define X(key, field) [PP_PROCESS_##key] = &process->field,
    struct pt_text *const texts[] = {PT_PROCESS_TEXTS(X)};
    uint64_t *const numbers[] = {[PP_PROCESS_SEGMENT] = &process->segment, PT_PROCESS_NUMBERS(X)};
#undef X
    size_t size = pt_left(payload);
    segment->text_bytes += size;
    *payload = pt_cursor(pt_keep(&segment->texts, payload->at, size), size);
    while (pt_left(payload)) {
        uint64_t key = pt_read_varint(payload);
        uint64_t length = pt_read_varint(payload);
        struct pt_cursor bytes = pt_read_part(payload, length);
        if (payload->bad)
            break;
        if (key < sizeof texts / sizeof texts[0] && texts[key])
            *texts[key] = rest(&bytes);
        else if (key < sizeof numbers / sizeof numbers[0] && numbers[key])
            *numbers[key] = pt_read_varint(&bytes);
    }
    tidy_texts(segment);
    segment->has_process = true;
}

bool pt_segment_parse_block(struct pt_segment *segment, uint32_t type, struct pt_cursor payload,
                            const struct pt_segment_sink *sink)
{
    static const enum pt_table_kind kinds[] = {
        [PP_BLOCK_STRINGS] = PT_TABLE_STRINGS, [PP_BLOCK_MODULES] = PT_TABLE_MODULES,
        [PP_BLOCK_CODES] = PT_TABLE_CODES,     [PP_BLOCK_FRAMES] = PT_TABLE_FRAMES,
        [PP_BLOCK_THREADS] = PT_TABLE_THREADS, [PP_BLOCK_LABELS] = PT_TABLE_LABELS,
    };
    switch (type) {
    case PP_BLOCK_PROCESS:
        parse_process(segment, &payload);
        break;
    case PP_BLOCK_STRINGS:
    case PP_BLOCK_MODULES:
    case PP_BLOCK_CODES:
    case PP_BLOCK_FRAMES:
    case PP_BLOCK_THREADS:
    case PP_BLOCK_LABELS:
        parse_definitions(segment, kinds[type], &payload, sink);
        return true; /* its damaged records are already counted */
    case PP_BLOCK_NODES:
        parse_nodes(segment, &payload, sink);
        return true;
    case PP_BLOCK_SAMPLES:
        pt_segment_parse_samples(segment, &payload, sink);
        return true;
    case PP_BLOCK_WAITS:
        pt_segment_parse_waits(segment, &payload, sink);
        return true;
    case PP_BLOCK_REQUESTS:
        parse_requests(segment, &payload, sink);
        return true;
    case PP_BLOCK_TRACES:
        pt_segment_parse_traced(segment, &payload, sink);
        return true;
    case PP_BLOCK_ACCOUNTING:
        if (!pt_accounting_read(&segment->accounting, payload))
            segment->losses.damaged_records++;
        segment->has_accounting = true;
        if (segment->end_reason == PP_END_EXEC)
            segment->end_reason = PP_END_NOT;
        if (sink && sink->accounting)
            sink->accounting(sink->data, segment);
        break;
    case PP_BLOCK_EARLIER:
        if (!pt_accounting_read(&segment->earlier, payload)) {
            segment->earlier = (struct pt_accounting){0};
            segment->losses.damaged_records++;
        }
        break;
    case PP_BLOCK_NOTICE: {
        uint64_t unix_ns = pt_read_varint(&payload);
        uint64_t severity = pt_read_varint(&payload);
        if (!payload.bad && sink && sink->notice)
            sink->notice(sink->data, segment, unix_ns, severity, rest(&payload));
        break;
    }
    case PP_BLOCK_END:
        segment->end_unix_ns = pt_read_varint(&payload);
        segment->end_reason = pt_read_small(&payload);
        break;
    default:
        return false;
    }
    if (payload.bad)
        segment->losses.damaged_records++;
    return true;
}
