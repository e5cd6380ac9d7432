/* From segments to the profile: pp_profile_add_segment and pp_profile_finish. */
#include <stdlib.h>
#include <string.h>

#include "frame_text.h"
#include "model.h"
#include "row_cells.h"
#include "stack_cells.h"
#include "states.h"
#include "sums.h"

/* Stands where a definition was in a block that is damaged: the CPU time is known, the stack is not. */
#define LOST_STACK "[stack lost in a damaged block]"
#define LOST_FRAME "[frame lost in a damaged block]"
/* Of a sample whose node is the root. */
#define NO_STACK "[no stack]"

/* Numbers in the profile by id in the segment, made at the first use; PP_NONE + 1 = 0 stands for "not yet". */
struct map {
    uint32_t *numbers; /* number + 1 */
    uint32_t capacity;
};

struct fold {
    struct pp_profile *profile;
    const char *name;
    uint32_t process; /* PP_NONE until the first thing that needs it */
    bool left_out;    /* of another run than wanted, or there already */
    bool alone;       /* no sample of the process has been added before */
    struct pp_cells cells;
    struct pp_row_cells row_cells;     /* what they do not take is in `cells` */
    struct pp_stack_cells stack_cells; /* of a profile of stacks only, also */
    uint64_t start_unix_ns, wall_ns;   /* the interval of the cells, if intervals are kept */
    struct map maps[PP_TABLE_COUNT];
    uint32_t *path; /* scratch of node_number */
    uint32_t path_capacity;
};

static uint32_t known(const struct fold *fold, enum pp_table_kind kind, uint32_t id)
{
    const struct map *map = &fold->maps[kind];
    return id < map->capacity ? map->numbers[id] - 1 : PP_NONE;
}

static uint32_t remember(struct fold *fold, enum pp_table_kind kind, uint32_t id, uint32_t number)
{
    struct map *map = &fold->maps[kind];
    map->numbers = pp_grow(map->numbers, &map->capacity, (uint64_t)id + 1, sizeof *map->numbers);
    map->numbers[id] = number + 1;
    return number;
}

static uint32_t string_number(struct fold *fold, const struct pp_segment *segment, uint32_t id)
{
    uint32_t number = known(fold, PP_TABLE_STRINGS, id);
    if (number != PP_NONE)
        return number;
    if (!pp_segment_find(segment, PP_TABLE_STRINGS, id))
        return 0;
    struct pp_text text = pp_segment_string(segment, id);
    return remember(fold, PP_TABLE_STRINGS, id, pp_intern(fold->profile, text.data, text.length));
}

static uint32_t intern(struct fold *fold, struct pp_text text)
{
    return text.length ? pp_intern(fold->profile, text.data, text.length) : 0;
}

/* Arguments with NULs between them become words with spaces; one that holds a space is quoted. */
static uint32_t command_line(struct fold *fold, struct pp_text text)
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
    uint32_t string = line.length ? pp_intern(fold->profile, line.data, line.length) : 0;
    pp_buffer_free(&line);
    return string;
}

static struct pp_process *process_of(struct fold *fold, const struct pp_segment *segment)
{
    struct pp_profile *profile = fold->profile;
    if (fold->process != PP_NONE)
        return &profile->processes.items[fold->process];
    const struct pp_log_process *from = &segment->process;
    uint32_t instance = intern(fold, from->instance);
    if (!instance)
        instance = pp_intern_text(profile, fold->name);
    fold->process = pp_add_process(profile, instance);
    struct pp_process *process = &profile->processes.items[fold->process];
    /* The same segment again (a file and a merged one that holds it) must not count twice. */
    fold->left_out = segment->has_process && from->instance.length && !pp_sums_note_part(process, from->segment);
    process->segments += !fold->left_out;
    fold->alone = process->segments == 1;
    if (!segment->has_process || process->pid)
        return process;
    process->run = intern(fold, from->run);
    process->parent_instance = intern(fold, from->parent_instance);
    process->host = intern(fold, from->host);
    process->boot_id = intern(fold, from->boot_id);
    process->command_line = command_line(fold, from->command_line);
    process->executable = intern(fold, from->executable);
    process->cwd = intern(fold, from->cwd);
    process->python_version = intern(fold, from->python_version);
    process->library_version = intern(fold, from->library_version);
    process->unwinder = intern(fold, from->unwinder);
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

static uint32_t module_number(struct fold *fold, const struct pp_segment *segment, uint32_t id, uint64_t *bias)
{
    const struct pp_log_module *from = pp_segment_find(segment, PP_TABLE_MODULES, id);
    *bias = from ? from->bias : 0;
    if (!from)
        return PP_NONE;
    uint32_t number = known(fold, PP_TABLE_MODULES, id);
    if (number != PP_NONE)
        return number;
    static const char digits[] = "0123456789abcdef";
    struct pp_buffer hex = {0};
    for (size_t i = 0; i < from->build_id.length; i++) {
        unsigned char byte = (unsigned char)from->build_id.data[i];
        pp_buffer_append(&hex, (char[]){digits[byte >> 4], digits[byte & 15]}, 2);
    }
    struct pp_module module = {
        .path = string_number(fold, segment, from->path),
        .build_id = hex.length ? pp_intern(fold->profile, hex.data, hex.length) : 0,
        .start = from->text_start - from->bias,
        .limit = from->text_end - from->bias,
        .file_offset = from->text_file_offset,
        .flags = from->flags,
    };
    pp_buffer_free(&hex);
    return remember(fold, PP_TABLE_MODULES, id, pp_add_module(fold->profile, &module));
}

static uint32_t function_number(struct fold *fold, const struct pp_segment *segment, uint32_t id)
{
    uint32_t number = known(fold, PP_TABLE_CODES, id);
    if (number != PP_NONE)
        return number;
    const struct pp_log_code *code = pp_segment_find(segment, PP_TABLE_CODES, id);
    if (!code)
        return PP_NONE;
    struct pp_function function = {
        .name = string_number(fold, segment, code->qualname),
        .file = string_number(fold, segment, code->file),
        .first_line = code->first_line,
    };
    const char *cwd = pp_string(fold->profile, process_of(fold, segment)->cwd);
    function.short_file = pp_intern_text(fold->profile, pp_short_path(pp_string(fold->profile, function.file), cwd));
    return remember(fold, PP_TABLE_CODES, id, pp_add_function(fold->profile, &function));
}

static uint32_t frame_number(struct fold *fold, const struct pp_segment *segment, uint32_t id)
{
    uint32_t number = known(fold, PP_TABLE_FRAMES, id);
    if (number != PP_NONE)
        return number;
    const struct pp_log_frame *from = pp_segment_find(segment, PP_TABLE_FRAMES, id);
    struct pp_frame frame = {.kind = from ? from->kind : 0, .subject = PP_NONE};
    uint64_t bias = 0;
    if (frame.kind == PP_FRAME_NATIVE) {
        frame.subject = module_number(fold, segment, from->subject, &bias);
        frame.address = from->address - bias;
        frame.symbol = string_number(fold, segment, from->symbol);
        frame.symbol_offset = from->symbol_offset;
    } else if (frame.kind == PP_FRAME_PYTHON) {
        frame.subject = function_number(fold, segment, from->subject);
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
        frame.subject = string_number(fold, segment, from->subject);
    }
    bool whole = frame.kind == PP_FRAME_NATIVE || (frame.kind == PP_FRAME_PYTHON && frame.subject != PP_NONE) ||
                 (frame.kind == PP_FRAME_PSEUDO && frame.subject);
    number = whole ? pp_add_frame(fold->profile, &frame)
                   : pp_add_pseudo(fold->profile, from && frame.kind > PP_FRAME_PSEUDO
                                                      ? "[frame of a kind unknown to this pyprof]"
                                                      : LOST_FRAME);
    return from ? remember(fold, PP_TABLE_FRAMES, id, number) : number;
}

/* Climbs to the nearest ancestor that has a number, then down again; every step is remembered, so that all calls
 * together are linear in the number of nodes. */
static uint32_t node_number(struct fold *fold, const struct pp_segment *segment, uint32_t id)
{
    uint32_t depth = 0, number = PP_NONE;
    while (id && (number = known(fold, PP_TABLE_NODES, id)) == PP_NONE) {
        const struct pp_log_node *node = pp_segment_find(segment, PP_TABLE_NODES, id);
        if (!node) {
            number = pp_add_node(fold->profile, 0, pp_add_pseudo(fold->profile, LOST_STACK));
            break;
        }
        fold->path = pp_grow(fold->path, &fold->path_capacity, (uint64_t)depth + 1, sizeof *fold->path);
        fold->path[depth++] = id;
        id = node->parent;
    }
    if (!id)
        number = depth ? 0 : pp_add_node(fold->profile, 0, pp_add_pseudo(fold->profile, NO_STACK));
    while (depth--) {
        const struct pp_log_node *node = pp_segment_find(segment, PP_TABLE_NODES, fold->path[depth]);
        number = pp_add_node(fold->profile, number, frame_number(fold, segment, node->frame));
        remember(fold, PP_TABLE_NODES, fold->path[depth], number);
    }
    return number;
}

static uint32_t thread_number(struct fold *fold, const struct pp_segment *segment, uint32_t id)
{
    uint32_t number = known(fold, PP_TABLE_THREADS, id);
    if (number != PP_NONE)
        return number;
    process_of(fold, segment);
    struct pp_thread thread = {.process = fold->process};
    const struct pp_log_thread *from = pp_segment_find(segment, PP_TABLE_THREADS, id);
    if (!id) {
        thread.name = pp_intern_text(fold->profile, "(process)");
    } else if (!from) {
        thread.tid = UINT64_MAX; /* one for all that are unknown: no kernel gives this tid */
        thread.name = pp_intern_text(fold->profile, "(thread lost in a damaged block)");
    } else {
        thread.tid = from->tid;
        thread.name = string_number(fold, segment, from->name);
        thread.start_unix_ns = from->start_unix_ns;
        thread.flags = from->flags;
    }
    number = pp_add_thread(fold->profile, &thread);
    return id && !from ? number : remember(fold, PP_TABLE_THREADS, id, number);
}

static uint32_t label_set_number(struct fold *fold, const struct pp_segment *segment, uint32_t id)
{
    if (!id)
        return 0;
    const struct pp_log_labels *from = pp_segment_find(segment, PP_TABLE_LABELS, id);
    uint32_t number = known(fold, PP_TABLE_LABELS, id);
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
        labels[count++] = (struct pp_label){string_number(fold, segment, (uint32_t)key),
                                            string_number(fold, segment, (uint32_t)value)};
    }
    number = pp_add_label_set(fold->profile, labels, count);
    free(labels);
    return remember(fold, PP_TABLE_LABELS, id, number);
}

/* For a profile of stacks only. */
static void put_stacks(struct fold *fold, const struct pp_segment *segment)
{
    struct pp_profile *profile = fold->profile;
    for (uint32_t i = 0; i < fold->stack_cells.thread_count; i++) {
        const struct pp_thread_cell *cell = &fold->stack_cells.threads[i];
        uint32_t thread = thread_number(fold, segment, cell->thread);
        for (uint32_t state = 0; state < PP_STATES_TOLD_APART; state++)
            pp_states_add(&profile->threads.items[thread].states, state, cell->cpu_ns[state]);
    }
    for (uint32_t i = 0; i < fold->stack_cells.stack_count; i++) {
        const struct pp_stack_cell *cell = &fold->stack_cells.stacks[i];
        pp_add_stack(profile, node_number(fold, segment, cell->node), cell->in_gc, cell->count, cell->cpu_ns);
    }
    for (uint32_t i = 0; i < fold->cells.count; i++) {
        const struct pp_log_sample *cell = &fold->cells.items[i];
        uint32_t thread = thread_number(fold, segment, cell->thread);
        pp_states_add(&profile->threads.items[thread].states, cell->state, cell->cpu_ns);
        pp_add_stack(profile, node_number(fold, segment, cell->node), pp_in_gc(cell->state), cell->count, cell->cpu_ns);
    }
    pp_stack_cells_clear(&fold->stack_cells);
    pp_cells_clear(&fold->cells);
}

static void put_cell(struct fold *fold, const struct pp_segment *segment, const struct pp_log_sample *cell,
                     uint32_t interval)
{
    struct pp_sample sample = {
        .thread = thread_number(fold, segment, cell->thread),
        .node = node_number(fold, segment, cell->node),
        .labels = label_set_number(fold, segment, cell->labels) & PP_MOST_LABEL_SETS,
        .state = cell->state & PP_MOST_STATES,
        .interval = interval,
        .count = cell->count,
        .cpu_ns = cell->cpu_ns,
    };
    if (fold->alone)
        pp_append_sample(fold->profile, &sample);
    else
        pp_add_sample(fold->profile, &sample);
}

static void put_row(struct fold *fold, const struct pp_segment *segment, const struct pp_cell_row *row,
                    uint32_t interval)
{
    for (uint32_t node = 0; node < row->capacity; node++) {
        const struct pp_cell_sum *sum = &row->sums[node];
        if (!sum->count && !sum->cpu_ns)
            continue;
        const struct pp_log_sample cell = {row->thread, node, 0, row->state, sum->count, sum->cpu_ns};
        put_cell(fold, segment, &cell, interval);
    }
}

/* Adds to the profile what has been added up. */
static void put_cells(struct fold *fold, const struct pp_segment *segment)
{
    if (fold->profile->stacks_only)
        put_stacks(fold, segment);
    if (!fold->cells.count && !fold->row_cells.row_count)
        return;
    uint32_t interval = 0;
    if (fold->profile->keep_intervals && (fold->start_unix_ns || !fold->profile->apart_from_ns))
        interval = pp_add_interval(fold->profile, fold->start_unix_ns, fold->wall_ns);
    for (uint32_t i = 0; i < fold->cells.count; i++)
        put_cell(fold, segment, &fold->cells.items[i], interval);
    for (uint32_t i = 0; i < fold->row_cells.row_count; i++)
        put_row(fold, segment, &fold->row_cells.rows[i], interval);
    fold->alone = fold->alone && fold->profile->keep_intervals; /* another interval is another sample */
    pp_cells_clear(&fold->cells);
    pp_row_cells_clear(&fold->row_cells);
}

static void take_samples(void *context, const struct pp_segment *segment, const struct pp_log_samples *from)
{
    struct fold *fold = context;
    struct pp_process *process = process_of(fold, segment);
    if (fold->left_out)
        return;
    bool apart = fold->profile->keep_intervals && from->start_unix_ns + from->wall_ns >= fold->profile->apart_from_ns;
    uint64_t start = apart ? from->start_unix_ns : 0, wall = apart ? from->wall_ns : 0;
    if (start != fold->start_unix_ns || wall != fold->wall_ns) {
        put_cells(fold, segment);
        fold->start_unix_ns = start;
        fold->wall_ns = wall;
    }
    if (fold->profile->stacks_only)
        pp_stack_cells_add(&fold->stack_cells, from->items, from->count, segment->tables[PP_TABLE_NODES].end,
                           segment->tables[PP_TABLE_THREADS].end, &fold->cells);
    else
        pp_row_cells_add(&fold->row_cells, from->items, from->count, segment->tables[PP_TABLE_NODES].end,
                         segment->tables[PP_TABLE_THREADS].end, &fold->cells);
    for (uint32_t i = 0; i < from->count; i++) {
        process->found_ns += from->items[i].cpu_ns;
        process->samples += from->items[i].count;
    }
    uint64_t end = from->start_unix_ns + from->wall_ns;
    if (end > process->end_unix_ns)
        process->end_unix_ns = end;
}

static void take_notice(void *context, const struct pp_segment *segment, uint64_t unix_ns, uint64_t severity,
                        struct pp_text text)
{
    struct fold *fold = context;
    struct pp_process *process = process_of(fold, segment);
    if (fold->left_out)
        return;
    process->notices.items = pp_grow(process->notices.items, &process->notices.capacity,
                                     (uint64_t)process->notices.count + 1, sizeof *process->notices.items);
    process->notices.items[process->notices.count++] = (struct pp_notice){unix_ns, severity, intern(fold, text)};
}

static void take_usage(void *context, const struct pp_segment *segment)
{
    struct fold *fold = context;
    struct pp_process *process = process_of(fold, segment);
    const struct pp_accounting *now = &segment->accounting;
    if (fold->left_out || !fold->profile->keep_usage)
        return;
    process->usage.items = pp_grow(process->usage.items, &process->usage.capacity, (uint64_t)process->usage.count + 1,
                                   sizeof *process->usage.items);
    process->usage.items[process->usage.count++] = (struct pp_usage){
        now->end_unix_ns,          now->wall_ns,      now->cpu_ns,      now->samples, now->voluntary_switches,
        now->involuntary_switches, now->minor_faults, now->major_faults};
}

static void forget(void *context, const struct pp_segment *segment, enum pp_table_kind kind, uint32_t id)
{
    struct fold *fold = context;
    put_cells(fold, segment); /* they mean the old definition */
    if (id < fold->maps[kind].capacity)
        fold->maps[kind].numbers[id] = 0;
}

void pp_read_losses_add(struct pp_read_losses *sum, const struct pp_read_losses *one)
{
    sum->damaged_blocks += one->damaged_blocks;
    sum->damaged_bytes += one->damaged_bytes;
    sum->damaged_records += one->damaged_records;
    sum->missing_blocks += one->missing_blocks;
    sum->unknown_blocks += one->unknown_blocks;
    sum->truncated_bytes += one->truncated_bytes;
    sum->repeated_segments += one->repeated_segments;
}

static void take_sums(struct fold *fold, const struct pp_segment *segment)
{
    struct pp_process *process = process_of(fold, segment);
    bool latest = pp_sums_is_latest(process, segment);
    if (segment->has_accounting && latest) {
        if (segment->process.python_version.length) /* by now there may be more of them */
            process->python_version = intern(fold, segment->process.python_version);
        process->period_ns = segment->process.period_ns; /* the last one: it may have been lowered */
    }
    if (segment->has_accounting && !fold->left_out)
        pp_sums_take(process, segment);
    if (latest)
        process->ended = segment->end_reason == PP_END_EXIT || segment->end_reason == PP_END_EXEC;
}

static bool is_wanted_process(const struct pp_profile *profile, const struct pp_log_process *process)
{
    const char *run = profile->only_run;
    if (run && (process->run.length < strlen(run) || memcmp(process->run.data, run, strlen(run)) != 0))
        return false;
    return !profile->wants || profile->wants(profile->wants_context, process);
}

/* Whether its run begins as profile->only_run says, and profile->wants wants its process. */
static bool is_wanted(const struct pp_profile *profile, const void *data, size_t size)
{
    struct pp_segment segment;
    if (!profile->only_run && !profile->wants)
        return true;
    bool wanted = pp_segment_read_process(data, size, &segment) == PP_READ_OK;
    wanted = wanted && is_wanted_process(profile, &segment.process);
    pp_segment_free(&segment);
    return wanted;
}

static void fold_free(struct fold *fold)
{
    for (int kind = 0; kind < PP_TABLE_COUNT; kind++)
        free(fold->maps[kind].numbers);
    free(fold->path);
    pp_cells_free(&fold->cells);
    pp_row_cells_free(&fold->row_cells);
    pp_stack_cells_free(&fold->stack_cells);
}

static enum pp_read_result add_one(struct pp_profile *profile, const void *data, size_t size, const char *name,
                                   size_t *budget, size_t *end)
{
    struct pp_segment segment;
    struct fold fold = {.profile = profile, .name = name, .process = PP_NONE};
    const struct pp_segment_sink sink = {&fold, profile->sums_only ? NULL : take_samples, take_notice, take_usage,
                                         forget};
    bool wanted = is_wanted(profile, data, size);
    enum pp_read_result result = pp_segment_read_part(data, size, budget, &segment, wanted ? &sink : NULL);
    if (result == PP_READ_OK && wanted) {
        put_cells(&fold, &segment);
        if (segment.has_process || fold.process != PP_NONE)
            take_sums(&fold, &segment);
        pp_read_losses_add(&profile->losses, &segment.losses);
        profile->losses.repeated_segments += fold.left_out;
    }
    *end = segment.end;
    fold_free(&fold);
    pp_segment_free(&segment);
    return result;
}

enum pp_read_result pp_profile_add_segment(struct pp_profile *profile, const void *data, size_t size, const char *name)
{
    size_t at = 0, end = 0, budget = pp_read_budget(size);
    enum pp_read_result result;
    do {
        result = add_one(profile, (const char *)data + at, size - at, name, &budget, &end);
        if (result != PP_READ_OK)
            break;
        at += end;
    } while (at < size && end);
    if (!at || at == size)
        return result;
    profile->losses.damaged_blocks++;
    profile->losses.damaged_bytes += size - at;
    return PP_READ_OK;
}

struct pp_growing {
    struct fold fold;
    struct pp_segment segment;
    char *name;
    bool unwanted;
};

struct pp_growing *pp_growing_new(struct pp_profile *profile, const char *name)
{
    struct pp_growing *growing = pp_alloc(1, sizeof *growing);
    growing->name = pp_strdup(name);
    growing->fold = (struct fold){.profile = profile, .name = growing->name, .process = PP_NONE};
    return growing;
}

enum pp_read_result pp_growing_read(struct pp_growing *growing, const void *data, size_t size, uint64_t *end)
{
    struct fold *fold = &growing->fold;
    struct pp_segment *segment = &growing->segment;
    const struct pp_segment_sink sink = {fold, take_samples, take_notice, take_usage, forget};
    if (!segment->end)
        growing->unwanted = !is_wanted(fold->profile, data, size);
    segment->losses = (struct pp_read_losses){0};
    enum pp_read_result result = pp_segment_read_on(data, size, segment, growing->unwanted ? NULL : &sink);
    *end = segment->end;
    if (result != PP_READ_OK || growing->unwanted)
        return result;
    put_cells(fold, segment);
    if (segment->has_process || fold->process != PP_NONE)
        take_sums(fold, segment);
    pp_read_losses_add(&fold->profile->losses, &segment->losses);
    return result;
}

bool pp_growing_is_wanted_after_all(const struct pp_growing *growing)
{
    return growing->unwanted && growing->segment.has_process &&
           is_wanted_process(growing->fold.profile, &growing->segment.process);
}

void pp_growing_free(struct pp_growing *growing)
{
    if (!growing)
        return;
    fold_free(&growing->fold);
    pp_segment_free(&growing->segment);
    free(growing->name);
    free(growing);
}

void pp_profile_finish(struct pp_profile *profile)
{
    pp_profile_close_sums(profile);
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pp_process *process = &profile->processes.items[i];
        if (!process->accounting.pending_ns)
            continue;
        struct pp_thread thread = {.process = i, .name = pp_intern_text(profile, "(process)")};
        struct pp_sample sample = {
            .thread = pp_add_thread(profile, &thread),
            .node = pp_add_node(profile, 0, pp_add_pseudo(profile, "[unsampled]")),
            .cpu_ns = process->accounting.pending_ns,
        };
        if (profile->stacks_only) {
            pp_states_add(&profile->threads.items[sample.thread].states, 0, sample.cpu_ns);
            pp_add_stack(profile, sample.node, false, 0, sample.cpu_ns);
            continue;
        }
        if (profile->keep_intervals)
            sample.interval = pp_add_interval(profile, process->accounting.end_unix_ns, 0);
        pp_append_sample(profile, &sample);
    }
}
