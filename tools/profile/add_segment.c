/* From segments to the profile: pt_profile_add_segment and pt_profile_finish. */
#include <stdlib.h>
#include <string.h>

#include "../view/gil_gc.h"
#include "../view/sums.h"
#include "id_map.h"
#include "model.h"
#include "row_cells.h"
#include "select.h"
#include "stack_sums.h"
#include "time_bins.h"

struct fold {
    struct pt_id_map numbers;
    struct pt_sample_sums cells;
    struct pt_row_cells row_cells;    /* what they do not take is in `cells` */
    struct pt_stack_sums stack_cells; /* of a profile of stacks only, also */
    uint64_t start_unix_ns, wall_ns;  /* the interval of the cells, if intervals are kept */
    unsigned char *chosen;            /* by thread of the profile, if it chooses: 1 yes, 2 no; 0: not asked yet */
    uint32_t chosen_capacity;
};

static void count_found(struct fold *fold, uint64_t count, uint64_t cpu_ns)
{
    struct pt_process *process = &fold->numbers.profile->processes.items[fold->numbers.process];
    process->samples += count;
    process->found_ns += cpu_ns;
}

static void put_thread(struct fold *fold, const struct pt_segment *segment, uint32_t interval, uint32_t id,
                       uint32_t state, uint64_t cpu_ns)
{
    uint32_t thread = pt_id_map_thread(&fold->numbers, segment, id);
    pt_states_add(&fold->numbers.profile->threads.items[thread].states, state, cpu_ns);
    if (fold->numbers.profile->keep_intervals)
        pt_add_busy(fold->numbers.profile, thread, state, interval, cpu_ns);
}

static void put_stack(struct fold *fold, const struct pt_segment *segment, uint32_t interval, uint32_t id, bool in_gc,
                      uint64_t count, uint64_t cpu_ns)
{
    pt_add_stack(fold->numbers.profile, pt_id_map_node(&fold->numbers, segment, id), in_gc, interval, count, cpu_ns);
    count_found(fold, count, cpu_ns);
}

/* For a profile of stacks only. */
static void put_stacks(struct fold *fold, const struct pt_segment *segment, uint32_t interval)
{
    for (uint32_t i = 0; i < fold->stack_cells.thread_count; i++) {
        const struct pt_thread_sum *cell = &fold->stack_cells.threads[i];
        for (uint32_t state = 0; state < PT_STATES_TOLD_APART; state++)
            put_thread(fold, segment, interval, cell->thread, state, cell->cpu_ns[state]);
    }
    for (uint32_t i = 0; i < fold->stack_cells.stack_count; i++) {
        const struct pt_stack_sum *cell = &fold->stack_cells.stacks[i];
        put_stack(fold, segment, interval, cell->node, cell->in_gc, cell->count, cell->cpu_ns);
    }
    for (uint32_t i = 0; i < fold->cells.count; i++) {
        const struct pt_log_sample *cell = &fold->cells.items[i];
        put_thread(fold, segment, interval, cell->thread, cell->state, cell->cpu_ns);
        put_stack(fold, segment, interval, cell->node, pt_in_gc(cell->state), cell->count, cell->cpu_ns);
    }
    pt_stack_sums_clear(&fold->stack_cells);
    pt_sample_sums_clear(&fold->cells);
}

static void put_cell(struct fold *fold, const struct pt_segment *segment, const struct pt_log_sample *cell,
                     uint32_t interval)
{
    struct pt_sample sample = {
        .thread = pt_id_map_thread(&fold->numbers, segment, cell->thread),
        .node = pt_id_map_node(&fold->numbers, segment, cell->node),
        .labels = pt_id_map_label_set(&fold->numbers, segment, cell->labels) & PT_MOST_LABEL_SETS,
        .state = cell->state & PT_MOST_STATES,
        .interval = interval,
        .count = cell->count,
        .cpu_ns = cell->cpu_ns,
    };
    count_found(fold, cell->count, cell->cpu_ns);
    if (fold->numbers.alone)
        pt_append_sample(fold->numbers.profile, &sample);
    else
        pt_add_sample(fold->numbers.profile, &sample);
}

static void put_row(struct fold *fold, const struct pt_segment *segment, const struct pt_cell_row *row,
                    uint32_t interval)
{
    for (uint32_t node = 0; node < row->capacity; node++) {
        const struct pt_cell_sum *sum = &row->sums[node];
        if (!sum->count && !sum->cpu_ns)
            continue;
        const struct pt_log_sample cell = {row->thread, node, 0, row->state, sum->count, sum->cpu_ns};
        put_cell(fold, segment, &cell, interval);
    }
}

/* Adds to the profile what has been added up. */
static void put_cells(struct fold *fold, const struct pt_segment *segment)
{
    struct pt_profile *profile = fold->numbers.profile;
    if (!fold->cells.count && !fold->row_cells.row_count && !fold->stack_cells.stack_count)
        return;
    uint32_t interval = 0;
    if (profile->keep_intervals && (fold->start_unix_ns || !profile->apart_from_ns))
        interval = pt_add_interval(profile, fold->start_unix_ns, fold->wall_ns);
    if (profile->stacks_only)
        put_stacks(fold, segment, interval);
    for (uint32_t i = 0; i < fold->cells.count; i++)
        put_cell(fold, segment, &fold->cells.items[i], interval);
    for (uint32_t i = 0; i < fold->row_cells.row_count; i++)
        put_row(fold, segment, &fold->row_cells.rows[i], interval);
    fold->numbers.alone = fold->numbers.alone && profile->keep_intervals; /* another interval is another sample */
    pt_sample_sums_clear(&fold->cells);
    pt_row_cells_clear(&fold->row_cells);
    pt_time_bins_bound(profile);
}

/* Samples that the profile chooses, or has not to choose from. */
static void add_cells(struct fold *fold, const struct pt_segment *segment, const struct pt_log_sample *samples,
                      uint32_t count)
{
    uint32_t nodes = segment->tables[PT_TABLE_NODES].end, threads = segment->tables[PT_TABLE_THREADS].end;
    if (fold->numbers.profile->stacks_only)
        pt_stack_sums_add(&fold->stack_cells, samples, count, nodes, threads, &fold->cells);
    else
        pt_row_cells_add(&fold->row_cells, samples, count, nodes, threads, &fold->cells);
}

/* Without what a plain profile does not tell apart. */
static void add_plain(struct fold *fold, const struct pt_segment *segment, const struct pt_log_sample *samples,
                      uint32_t count)
{
    struct pt_log_sample plain[PT_SUMS_TOGETHER];
    for (uint32_t i = 0, many; i < count; i += many) {
        for (many = 0; many < PT_SUMS_TOGETHER && i + many < count; many++) {
            plain[many] = samples[i + many];
            plain[many].labels = 0;
            plain[many].state &= PP_STATE_GC_KNOWN | PP_STATE_GC;
        }
        add_cells(fold, segment, plain, many);
    }
}

static void add(struct fold *fold, const struct pt_segment *segment, const struct pt_log_sample *samples,
                uint32_t count)
{
    if (fold->numbers.profile->plain)
        add_plain(fold, segment, samples, count);
    else
        add_cells(fold, segment, samples, count);
}

static bool is_chosen(struct fold *fold, const struct pt_segment *segment, uint32_t id)
{
    struct pt_profile *profile = fold->numbers.profile;
    uint32_t thread = pt_id_map_thread(&fold->numbers, segment, id);
    fold->chosen = pt_grow(fold->chosen, &fold->chosen_capacity, profile->threads.count, sizeof *fold->chosen);
    if (!fold->chosen[thread])
        fold->chosen[thread] = pt_choice_takes_thread(profile->choice, profile, thread) ? 1 : 2;
    return fold->chosen[thread] == 1;
}

static void add_chosen(struct fold *fold, const struct pt_segment *segment, const struct pt_log_samples *from,
                       bool in_time)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const struct pt_log_sample *sample = &from->items[i];
        if (in_time && is_chosen(fold, segment, sample->thread))
            add(fold, segment, sample, 1);
        else
            count_found(fold, sample->count, sample->cpu_ns);
    }
}

static void take_samples(void *context, const struct pt_segment *segment, const struct pt_log_samples *from)
{
    struct fold *fold = context;
    struct pt_process *process = pt_id_map_process(&fold->numbers, segment);
    const struct pt_profile *profile = fold->numbers.profile;
    if (fold->numbers.left_out || profile->too_many)
        return;
    bool apart = profile->keep_intervals && from->start_unix_ns + from->wall_ns >= profile->apart_from_ns;
    struct pt_interval at = {apart ? from->start_unix_ns : 0, apart ? from->wall_ns : 0};
    at = pt_time_bin_of(profile, at);
    if (at.start_unix_ns != fold->start_unix_ns || at.wall_ns != fold->wall_ns) {
        put_cells(fold, segment);
        at = pt_time_bin_of(profile, at); /* slots may have become wider */
        fold->start_unix_ns = at.start_unix_ns;
        fold->wall_ns = at.wall_ns;
    }
    if (profile->choice)
        add_chosen(fold, segment, from, pt_choice_takes_time(profile->choice, from->start_unix_ns, from->wall_ns));
    else
        add(fold, segment, from->items, from->count);
    uint64_t end = from->start_unix_ns + from->wall_ns;
    if (end > process->end_unix_ns)
        process->end_unix_ns = end;
}

static void take_notice(void *context, const struct pt_segment *segment, uint64_t unix_ns, uint64_t severity,
                        struct pt_text text)
{
    struct fold *fold = context;
    struct pt_process *process = pt_id_map_process(&fold->numbers, segment);
    if (fold->numbers.left_out)
        return;
    process->notices.items = pt_grow(process->notices.items, &process->notices.capacity,
                                     (uint64_t)process->notices.count + 1, sizeof *process->notices.items);
    process->notices.items[process->notices.count++] =
        (struct pt_notice){unix_ns, severity, pt_id_map_intern(&fold->numbers, text)};
}

static void take_usage(void *context, const struct pt_segment *segment)
{
    struct fold *fold = context;
    struct pt_process *process = pt_id_map_process(&fold->numbers, segment);
    const struct pt_accounting *now = &segment->accounting;
    if (fold->numbers.left_out || !fold->numbers.profile->keep_usage)
        return;
    process->usage.items = pt_grow(process->usage.items, &process->usage.capacity, (uint64_t)process->usage.count + 1,
                                   sizeof *process->usage.items);
    process->usage.items[process->usage.count++] = (struct pt_usage){
        now->end_unix_ns,          now->wall_ns,      now->cpu_ns,      now->samples, now->voluntary_switches,
        now->involuntary_switches, now->minor_faults, now->major_faults};
}

static void forget(void *context, const struct pt_segment *segment, enum pt_table_kind kind, uint32_t id)
{
    struct fold *fold = context;
    put_cells(fold, segment); /* they mean the old definition */
    pt_id_map_forget(&fold->numbers, kind, id);
}

void pt_read_losses_add(struct pt_read_losses *sum, const struct pt_read_losses *one)
{
    sum->damaged_blocks += one->damaged_blocks;
    sum->damaged_bytes += one->damaged_bytes;
    sum->damaged_records += one->damaged_records;
    sum->missing_blocks += one->missing_blocks;
    sum->unknown_blocks += one->unknown_blocks;
    sum->truncated_bytes += one->truncated_bytes;
    sum->repeated_blocks += one->repeated_blocks;
    sum->repeated_segments += one->repeated_segments;
}

static void take_sums(struct fold *fold, const struct pt_segment *segment)
{
    struct pt_process *process = pt_id_map_process(&fold->numbers, segment);
    bool latest = pt_sums_is_latest(process, segment);
    if (segment->has_accounting && latest) {
        if (segment->process.python_version.length) /* by now there may be more of them */
            process->python_version = pt_id_map_intern(&fold->numbers, segment->process.python_version);
        process->period_ns = segment->process.period_ns; /* the last one: it may have been lowered */
    }
    if (segment->has_accounting && !fold->numbers.left_out)
        pt_sums_take(process, segment);
    if (latest)
        process->ended = segment->end_reason == PP_END_EXIT || segment->end_reason == PP_END_EXEC;
}

static bool is_wanted_process(const struct pt_profile *profile, const struct pt_log_process *process)
{
    const char *run = profile->only_run;
    if (run && (process->run.length < strlen(run) || memcmp(process->run.data, run, strlen(run)) != 0))
        return false;
    return !profile->wants || profile->wants(profile->wants_context, process);
}

/* Whether its run begins as profile->only_run says, and profile->wants wants its process. */
static bool is_wanted(const struct pt_profile *profile, const void *data, size_t size)
{
    struct pt_segment segment;
    if (!profile->only_run && !profile->wants)
        return true;
    bool wanted = pt_segment_read_process(data, size, &segment) == PT_READ_OK;
    wanted = wanted && is_wanted_process(profile, &segment.process);
    pt_segment_free(&segment);
    return wanted;
}

static void fold_free(struct fold *fold)
{
    pt_id_map_free(&fold->numbers);
    pt_sample_sums_free(&fold->cells);
    pt_row_cells_free(&fold->row_cells);
    pt_stack_sums_free(&fold->stack_cells);
    free(fold->chosen);
}

static enum pt_read_result add_one(struct pt_profile *profile, const void *data, size_t size, const char *name,
                                   size_t *budget, size_t *end)
{
    struct pt_segment segment;
    struct fold fold = {.numbers = {.profile = profile, .name = name, .process = PT_NONE}};
    const struct pt_segment_sink sink = {&fold, profile->sums_only ? NULL : take_samples, take_notice, take_usage,
                                         forget};
    bool wanted = is_wanted(profile, data, size);
    enum pt_read_result result = pt_segment_read_part(data, size, budget, &segment, wanted ? &sink : NULL);
    if (result == PT_READ_OK && wanted) {
        put_cells(&fold, &segment);
        if (segment.has_process || fold.numbers.process != PT_NONE)
            take_sums(&fold, &segment);
        pt_read_losses_add(&profile->losses, &segment.losses);
        profile->losses.repeated_segments += fold.numbers.left_out;
    }
    *end = segment.end;
    fold_free(&fold);
    pt_segment_free(&segment);
    return result;
}

enum pt_read_result pt_profile_add_segment(struct pt_profile *profile, const void *data, size_t size, const char *name)
{
    size_t at = 0, end = 0, budget = pt_read_budget(size);
    enum pt_read_result result;
    do {
        result = add_one(profile, (const char *)data + at, size - at, name, &budget, &end);
        if (result != PT_READ_OK)
            break;
        at += end;
    } while (at < size && end);
    if (!at || at == size)
        return result;
    profile->losses.damaged_blocks++;
    profile->losses.damaged_bytes += size - at;
    return PT_READ_OK;
}

struct pt_growing {
    struct fold fold;
    struct pt_segment segment;
    char *name;
    bool unwanted;
};

struct pt_growing *pt_growing_new(struct pt_profile *profile, const char *name)
{
    struct pt_growing *growing = pt_alloc(1, sizeof *growing);
    growing->name = pt_strdup(name);
    growing->fold = (struct fold){.numbers = {.profile = profile, .name = growing->name, .process = PT_NONE}};
    return growing;
}

enum pt_read_result pt_growing_read(struct pt_growing *growing, const void *data, size_t size, uint64_t *end)
{
    struct fold *fold = &growing->fold;
    struct pt_segment *segment = &growing->segment;
    const struct pt_segment_sink sink = {fold, take_samples, take_notice, take_usage, forget};
    if (!segment->end)
        growing->unwanted = !is_wanted(fold->numbers.profile, data, size);
    segment->losses = (struct pt_read_losses){0};
    enum pt_read_result result = pt_segment_read_on(data, size, segment, growing->unwanted ? NULL : &sink);
    *end = segment->end;
    if (result != PT_READ_OK || growing->unwanted)
        return result;
    put_cells(fold, segment);
    if (segment->has_process || fold->numbers.process != PT_NONE)
        take_sums(fold, segment);
    pt_read_losses_add(&fold->numbers.profile->losses, &segment->losses);
    return result;
}

bool pt_growing_is_wanted_after_all(const struct pt_growing *growing)
{
    return growing->unwanted && growing->segment.has_process &&
           is_wanted_process(growing->fold.numbers.profile, &growing->segment.process);
}

void pt_growing_free(struct pt_growing *growing)
{
    if (!growing)
        return;
    fold_free(&growing->fold);
    pt_segment_free(&growing->segment);
    free(growing->name);
    free(growing);
}

void pt_profile_finish(struct pt_profile *profile)
{
    pt_profile_close_sums(profile);
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *process = &profile->processes.items[i];
        if (!process->accounting.pending_ns)
            continue;
        struct pt_thread thread = {.process = i, .name = pt_intern_text(profile, "(process)")};
        struct pt_sample sample = {
            .thread = pt_add_thread(profile, &thread),
            .node = pt_add_node(profile, 0, pt_add_pseudo(profile, "[unsampled]")),
            .cpu_ns = process->accounting.pending_ns,
        };
        if (profile->choice && !(pt_choice_takes_time(profile->choice, process->accounting.end_unix_ns, 0) &&
                                 pt_choice_takes_thread(profile->choice, profile, sample.thread)))
            continue;
        if (profile->keep_intervals)
            sample.interval = pt_add_interval(profile, process->accounting.end_unix_ns, 0);
        if (profile->stacks_only) {
            pt_states_add(&profile->threads.items[sample.thread].states, 0, sample.cpu_ns);
            pt_add_stack(profile, sample.node, false, sample.interval, 0, sample.cpu_ns);
            if (profile->keep_intervals)
                pt_add_busy(profile, sample.thread, 0, sample.interval, sample.cpu_ns);
        } else {
            pt_append_sample(profile, &sample);
        }
    }
}
