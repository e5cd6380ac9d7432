#include "numbers.h"

#include <stdlib.h>
#include <string.h>

#include "frame_text.h"
#include "sums.h"

/* Stands where a definition was in a block that is damaged: the CPU time is known, the stack is not. */
#define LOST_STACK "[stack lost in a damaged block]"
#define LOST_FRAME "[frame lost in a damaged block]"
/* Of a sample whose node is the root. */
#define NO_STACK "[no stack]"

static uint32_t known(const struct pp_numbers *numbers, enum pp_table_kind kind, uint32_t id)
{
    const struct pp_number_map *map = &numbers->maps[kind];
    return id < map->capacity ? map->items[id] - 1 : PP_NONE;
}

static uint32_t remember(struct pp_numbers *numbers, enum pp_table_kind kind, uint32_t id, uint32_t number)
{
    struct pp_number_map *map = &numbers->maps[kind];
    map->items = pp_grow(map->items, &map->capacity, (uint64_t)id + 1, sizeof *map->items);
    map->items[id] = number + 1;
    return number;
}

static uint32_t string_number(struct pp_numbers *numbers, const struct pp_segment *segment, uint32_t id)
{
    uint32_t number = known(numbers, PP_TABLE_STRINGS, id);
    if (number != PP_NONE)
        return number;
    if (!pp_segment_find(segment, PP_TABLE_STRINGS, id))
        return 0;
    struct pp_text text = pp_segment_string(segment, id);
    return remember(numbers, PP_TABLE_STRINGS, id, pp_intern(numbers->profile, text.data, text.length));
}

uint32_t pp_numbers_intern(struct pp_numbers *numbers, struct pp_text text)
{
    return text.length ? pp_intern(numbers->profile, text.data, text.length) : 0;
}

/* Arguments with NULs between them become words with spaces; one that holds a space is quoted. */
static uint32_t command_line(struct pp_numbers *numbers, struct pp_text text)
{
    struct pp_buffer line = {0};
    for (size_t at = 0; at < text.length;) {
        const char *word = text.data + at;
        size_t length = strnlen(word, text.length - at);
        bool quote = !length || memchr(word, ' ', length) || memchr(word, '\n', length);
        if (line.length)
            pp_buffer_text(&line, " ");
        if (quote)
            pp_buffer_text(&line, "'");
        pp_buffer_append(&line, word, length);
        if (quote)
            pp_buffer_text(&line, "'");
        at += length + 1;
    }
    uint32_t string = line.length ? pp_intern(numbers->profile, line.data, line.length) : 0;
    pp_buffer_free(&line);
    return string;
}

struct pp_process *pp_numbers_process(struct pp_numbers *numbers, const struct pp_segment *segment)
{
    struct pp_profile *profile = numbers->profile;
    if (numbers->process != PP_NONE)
        return &profile->processes.items[numbers->process];
    const struct pp_log_process *from = &segment->process;
    uint32_t instance = pp_numbers_intern(numbers, from->instance);
    if (!instance)
        instance = pp_intern_text(profile, numbers->name);
    numbers->process = pp_add_process(profile, instance);
    struct pp_process *process = &profile->processes.items[numbers->process];
    /* The same segment again (a file and a merged one that holds it) must not count twice. */
    numbers->left_out = segment->has_process && from->instance.length && !pp_sums_note_part(process, from->segment);
    process->segments += !numbers->left_out;
    numbers->alone = process->segments == 1;
    if (!segment->has_process || process->pid)
        return process;
    process->run = pp_numbers_intern(numbers, from->run);
    process->parent_instance = pp_numbers_intern(numbers, from->parent_instance);
    process->host = pp_numbers_intern(numbers, from->host);
    process->boot_id = pp_numbers_intern(numbers, from->boot_id);
    process->command_line = command_line(numbers, from->command_line);
    process->executable = pp_numbers_intern(numbers, from->executable);
    process->cwd = pp_numbers_intern(numbers, from->cwd);
    process->python_version = pp_numbers_intern(numbers, from->python_version);
    process->library_version = pp_numbers_intern(numbers, from->library_version);
    process->unwinder = pp_numbers_intern(numbers, from->unwinder);
    process->pid = from->pid;
    process->ppid = from->ppid;
    process->uid = from->uid;
    process->exec_count = from->exec_count;
    process->start_unix_ns = from->start_unix_ns;
    process->period_ns = from->period_ns;
    process->tick_ns = from->tick_ns;
    process->cpus = from->cpus;
    return process;
}

static uint32_t module_number(struct pp_numbers *numbers, const struct pp_segment *segment, uint32_t id, uint64_t *bias)
{
    const struct pp_log_module *from = pp_segment_find(segment, PP_TABLE_MODULES, id);
    *bias = from ? from->bias : 0;
    if (!from)
        return PP_NONE;
    uint32_t number = known(numbers, PP_TABLE_MODULES, id);
    if (number != PP_NONE)
        return number;
    static const char digits[] = "0123456789abcdef";
    struct pp_buffer hex = {0};
    for (size_t i = 0; i < from->build_id.length; i++) {
        unsigned char byte = (unsigned char)from->build_id.data[i];
        pp_buffer_append(&hex, (char[]){digits[byte >> 4], digits[byte & 15]}, 2);
    }
    struct pp_module module = {
        .path = string_number(numbers, segment, from->path),
        .build_id = hex.length ? pp_intern(numbers->profile, hex.data, hex.length) : 0,
        .start = from->text_start - from->bias,
        .limit = from->text_end - from->bias,
        .file_offset = from->text_file_offset,
        .flags = from->flags,
    };
    pp_buffer_free(&hex);
    return remember(numbers, PP_TABLE_MODULES, id, pp_add_module(numbers->profile, &module));
}

static uint32_t function_number(struct pp_numbers *numbers, const struct pp_segment *segment, uint32_t id)
{
    uint32_t number = known(numbers, PP_TABLE_CODES, id);
    if (number != PP_NONE)
        return number;
    const struct pp_log_code *code = pp_segment_find(segment, PP_TABLE_CODES, id);
    if (!code)
        return PP_NONE;
    struct pp_function function = {
        .name = string_number(numbers, segment, code->qualname),
        .file = string_number(numbers, segment, code->file),
        .first_line = code->first_line,
    };
    const char *cwd = pp_string(numbers->profile, pp_numbers_process(numbers, segment)->cwd);
    function.short_file =
        pp_intern_text(numbers->profile, pp_short_path(pp_string(numbers->profile, function.file), cwd));
    return remember(numbers, PP_TABLE_CODES, id, pp_add_function(numbers->profile, &function));
}

static uint32_t frame_number(struct pp_numbers *numbers, const struct pp_segment *segment, uint32_t id)
{
    uint32_t number = known(numbers, PP_TABLE_FRAMES, id);
    if (number != PP_NONE)
        return number;
    const struct pp_log_frame *from = pp_segment_find(segment, PP_TABLE_FRAMES, id);
    struct pp_frame frame = {.kind = from ? from->kind : 0, .subject = PP_NONE};
    uint64_t bias = 0;
    if (frame.kind == PP_FRAME_NATIVE) {
        frame.subject = module_number(numbers, segment, from->subject, &bias);
        frame.address = from->address - bias;
        frame.symbol = string_number(numbers, segment, from->symbol);
        frame.symbol_offset = from->symbol_offset;
    } else if (frame.kind == PP_FRAME_PYTHON) {
        frame.subject = function_number(numbers, segment, from->subject);
        frame.line = from->line;
        /* only as a whole, and only what can be: nothing else has to look again */
        bool ordered =
            from->end_line > from->line || (from->end_line == from->line && from->end_column >= from->column);
        if (from->line && from->column && from->end_column && ordered) {
            frame.end_line = from->end_line;
            frame.column = from->column;
            frame.end_column = from->end_column;
        }
    } else if (frame.kind == PP_FRAME_PSEUDO) {
        frame.subject = string_number(numbers, segment, from->subject);
    }
    bool whole = frame.kind == PP_FRAME_NATIVE || (frame.kind == PP_FRAME_PYTHON && frame.subject != PP_NONE) ||
                 (frame.kind == PP_FRAME_PSEUDO && frame.subject);
    number = whole ? pp_add_frame(numbers->profile, &frame)
                   : pp_add_pseudo(numbers->profile, from && frame.kind > PP_FRAME_PSEUDO
                                                         ? "[frame of a kind unknown to this pyprof]"
                                                         : LOST_FRAME);
    return from ? remember(numbers, PP_TABLE_FRAMES, id, number) : number;
}

/* Climbs to the nearest ancestor that has a number, then down again; every step is remembered, so that all calls
 * together are linear in the number of nodes. */
uint32_t pp_numbers_node(struct pp_numbers *numbers, const struct pp_segment *segment, uint32_t id)
{
    uint32_t depth = 0, number = PP_NONE;
    while (id && (number = known(numbers, PP_TABLE_NODES, id)) == PP_NONE) {
        const struct pp_log_node *node = pp_segment_find(segment, PP_TABLE_NODES, id);
        if (!node) {
            number = pp_add_node(numbers->profile, 0, pp_add_pseudo(numbers->profile, LOST_STACK));
            break;
        }
        numbers->path = pp_grow(numbers->path, &numbers->path_capacity, (uint64_t)depth + 1, sizeof *numbers->path);
        numbers->path[depth++] = id;
        id = node->parent;
    }
    if (!id)
        number = depth ? 0 : pp_add_node(numbers->profile, 0, pp_add_pseudo(numbers->profile, NO_STACK));
    while (depth--) {
        const struct pp_log_node *node = pp_segment_find(segment, PP_TABLE_NODES, numbers->path[depth]);
        number = pp_add_node(numbers->profile, number, frame_number(numbers, segment, node->frame));
        remember(numbers, PP_TABLE_NODES, numbers->path[depth], number);
    }
    return number;
}

uint32_t pp_numbers_thread(struct pp_numbers *numbers, const struct pp_segment *segment, uint32_t id)
{
    uint32_t number = known(numbers, PP_TABLE_THREADS, id);
    if (number != PP_NONE)
        return number;
    pp_numbers_process(numbers, segment);
    struct pp_thread thread = {.process = numbers->process};
    const struct pp_log_thread *from = pp_segment_find(segment, PP_TABLE_THREADS, id);
    if (!id) {
        thread.name = pp_intern_text(numbers->profile, "(process)");
    } else if (!from) {
        thread.tid = UINT64_MAX; /* one for all that are unknown: no kernel gives this tid */
        thread.name = pp_intern_text(numbers->profile, "(thread lost in a damaged block)");
    } else {
        thread.tid = from->tid;
        thread.name = string_number(numbers, segment, from->name);
        thread.start_unix_ns = from->start_unix_ns;
        thread.flags = from->flags;
    }
    number = pp_add_thread(numbers->profile, &thread);
    return id && !from ? number : remember(numbers, PP_TABLE_THREADS, id, number);
}

uint32_t pp_numbers_label_set(struct pp_numbers *numbers, const struct pp_segment *segment, uint32_t id)
{
    if (!id)
        return 0;
    const struct pp_log_labels *from = pp_segment_find(segment, PP_TABLE_LABELS, id);
    uint32_t number = known(numbers, PP_TABLE_LABELS, id);
    if (!from || number != PP_NONE)
        return from ? number : 0;
    struct pp_label *labels = NULL;
    uint32_t count = 0, capacity = 0;
    struct pp_cursor pairs = pp_cursor(from->pairs.data, from->pairs.length);
    while (pp_left(&pairs)) {
        uint64_t key = pp_take_varint(&pairs);
        uint64_t value = pp_take_varint(&pairs);
        if (pairs.bad || key >= PP_NONE || value >= PP_NONE)
            break;
        labels = pp_grow(labels, &capacity, (uint64_t)count + 1, sizeof *labels);
        labels[count++] = (struct pp_label){string_number(numbers, segment, (uint32_t)key),
                                            string_number(numbers, segment, (uint32_t)value)};
    }
    number = pp_add_label_set(numbers->profile, labels, count);
    free(labels);
    return remember(numbers, PP_TABLE_LABELS, id, number);
}

void pp_numbers_forget(struct pp_numbers *numbers, enum pp_table_kind kind, uint32_t id)
{
    if (id < numbers->maps[kind].capacity)
        numbers->maps[kind].items[id] = 0;
}

void pp_numbers_free(struct pp_numbers *numbers)
{
    for (int kind = 0; kind < PP_TABLE_COUNT; kind++)
        free(numbers->maps[kind].items);
    free(numbers->path);
}
