/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../preload/common/label_kinds.h"
#include "../load/growing_file.h"
#include "../model/gil_gc.h"
#include "../symbols/symbols.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define SLICE_NS      (NS_PER_SECOND / 5) /* of reading, after which the samples are summed up */
#define RESOLVE_SHARE 1000                /* reading files for names may take a part in so many of the time */
#define CELLS_MAX     UINT32_C(200000)    /* from here on later windows are read another time, if there are several */
#define MEMORY_FROM   ((size_t)24 << 20)  /* tables of what no longer runs are worth forgetting */
#define LABELS_MAX    8u                  /* of a sample */

PT_DEFINE_IDENTITY(cells, struct pt_push_cell, (uint64_t)item->window << 32 | item->service,
                   (uint64_t)item->node << 32 | item->labels)

static const char *name_of(const struct pt_push_reader *reader, const char *path)
{
    size_t length = strlen(reader->directory);
    return strncmp(path, reader->directory, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

/* Returns whether all that a file has, which was last written at this time, ended long before the other. */
static bool is_settled(uint64_t written_unix_ns, uint64_t unix_ns)
{
    return written_unix_ns + 2 * PT_PUSH_LATE_NS < unix_ns;
}

static uint64_t limit_of(void *data, const char *path, const struct stat *status)
{
    const struct pt_push_reader *reader = data;
    const struct pt_push_file *file = pt_push_state_find(reader->state, name_of(reader, path));
    bool compacted = file && file->inode != status->st_ino;
    if (reader->phase == PT_PUSH_NEW)
        return !file && is_settled((uint64_t)status->st_mtim.tv_sec * NS_PER_SECOND, reader->from_unix_ns) ? 0
                                                                                                           : UINT64_MAX;
    if (!file || (compacted && reader->phase == PT_PUSH_SENT))
        return 0;
    return compacted ? UINT64_MAX : reader->phase == PT_PUSH_SENT ? file->base : file->read;
}

static void begin(struct pt_push_reader *reader)
{
    reader->follow = pt_follow_new(&reader->request, UINT64_MAX);
    reader->follow->limit = limit_of;
    reader->follow->limit_data = reader;
    reader->fold = (struct pt_fold){.native = reader->request.select.native};
    reader->tasks = (struct pt_task_stacks){.no_awaiters = reader->request.select.no_awaiters};
    reader->resolved = 0;
    reader->resolve_at_ns = 0;
}

/* Names of frames are resolved before stacks are folded, but not for more than a share of the time. */
static void resolve(struct pt_push_reader *reader)
{
    struct pt_profile *profile = reader->follow->profile;
    uint64_t begun = pt_clock_ns(CLOCK_MONOTONIC);
    if (profile->frames.count == reader->resolved || begun < reader->resolve_at_ns)
        return;
    pt_symbols_resolve_names(profile);
    uint64_t ended = pt_clock_ns(CLOCK_MONOTONIC);
    reader->resolve_at_ns = ended + RESOLVE_SHARE * (ended - begun);
    reader->resolved = profile->frames.count;
}

static bool is_shown(const char *key)
{
    return *key && strcmp(key, PP_KEY_TASK) != 0 && strcmp(key, PP_KEY_AWAITER) != 0 &&
           strcmp(key, PP_KEY_GREENLET) != 0 && strcmp(key, PP_KEY_SPAN) != 0 && strncmp(key, "__", 2) != 0 &&
           strcmp(key, "service_name") != 0;
}

/* Returns the labels of a set that become series of the server, as a set. */
static uint32_t shown_labels(struct pt_push_reader *reader, uint32_t number)
{
    struct pt_profile *profile = reader->follow->profile;
    struct pt_label shown[LABELS_MAX];
    uint32_t count = 0;
    if (!reader->labels || !number)
        return 0;
    reader->shown = pt_grow(reader->shown, &reader->shown_capacity, (uint64_t)number + 1, sizeof *reader->shown);
    if (reader->shown[number])
        return reader->shown[number] - 1;
    const struct pt_label_set set = profile->label_sets.items[number];
    for (uint32_t i = set.first; i < set.first + set.count && count < LABELS_MAX; i++) {
        struct pt_label label = profile->labels.items[i];
        if (!is_shown(pt_string(profile, label.key)) || !label.value)
            continue;
        PT_AUTO_FREE char *key = pt_strdup(pt_string(profile, label.key));
        for (char *at = key; *at; at++)
            if (!((*at >= '0' && *at <= '9' && at > key) || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z')))
                *at = '_';
        label.key = pt_intern_text(profile, key);
        uint32_t same = 0;
        while (same < count && shown[same].key != label.key)
            same++;
        if (same == count)
            shown[count++] = label;
    }
    uint32_t to = count ? pt_add_label_set(profile, shown, count) : 0;
    reader->shown[number] = to + 1;
    return to;
}

static uint32_t service_of(struct pt_push_reader *reader, uint32_t process)
{
    reader->services =
        pt_grow(reader->services, &reader->service_capacity, (uint64_t)process + 1, sizeof *reader->services);
    if (!reader->services[process])
        reader->services[process] = pt_push_service(reader->target, reader->follow->profile, process) + 1;
    return reader->services[process] - 1;
}

/* Returns the number of the window in which an interval ended; PT_NONE: the server has it, or it is for another time.
 */
static uint32_t window_of(const struct pt_push_reader *reader, uint64_t end_unix_ns)
{
    uint64_t from = reader->from_unix_ns;
    bool first = reader->phase == PT_PUSH_NEW || from == reader->state->batch_from_ns;
    uint64_t late = first ? PT_PUSH_LATE_NS : 0;
    uint32_t last = reader->windows - !reader->cut;
    if (end_unix_ns < from)
        return end_unix_ns + late < from ? PT_NONE : 0;
    uint64_t window = (end_unix_ns - from) / reader->window_ns;
    if (reader->cut)
        return window < last ? (uint32_t)window : PT_NONE;
    return window < last ? (uint32_t)window : last;
}

static int compare_windows(const void *a, const void *b)
{
    return pt_compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Forgets the later half of the windows: it is read another time. */
static void cut(struct pt_push_reader *reader)
{
    uint32_t *windows = pt_alloc(reader->cells.count, sizeof *windows), kept = 0;
    for (uint32_t i = 0; i < reader->cells.count; i++)
        windows[i] = reader->cells.items[i].window;
    qsort(windows, reader->cells.count, sizeof *windows, compare_windows);
    uint32_t first = windows[0], limit = windows[reader->cells.count / 2];
    free(windows);
    reader->cut_at = 2 * reader->cells.count;
    if (limit == first && ++limit >= reader->windows)
        return;
    reader->windows = limit;
    reader->cut = true;
    pt_index_free(&reader->cells.index);
    reader->cells.index = (struct pt_index){0};
    for (uint32_t i = 0; i < reader->cells.count; i++) {
        struct pt_push_cell *cell = &reader->cells.items[i];
        if (cell->window >= limit)
            continue;
        reader->cells.items[kept] = *cell;
        pt_index_add(&reader->cells.index, cells_hash(cell), kept++);
    }
    reader->cells.count = kept;
    reader->cut_at = CELLS_MAX > 2 * kept ? CELLS_MAX : 2 * kept;
}

static void add(struct pt_push_reader *reader, const struct pt_sample *sample, uint32_t window)
{
    struct pt_profile *profile = reader->follow->profile;
    const struct pt_push_cell cell = {
        .window = window,
        .service = service_of(reader, profile->threads.items[sample->thread].process),
        .node = pt_fold_node(&reader->fold, sample->node),
        .labels = shown_labels(reader, sample->labels),
    };
    uint32_t number = PT_FIND_OR_APPEND(&reader->cells, cells_hash(&cell), cells_same, &cell, cell);
    reader->cells.items[number].count += sample->count;
    reader->cells.items[number].cpu_ns += sample->cpu_ns;
}

/* Moves the samples that were read into the windows. */
static void sum_up(struct pt_push_reader *reader)
{
    struct pt_profile *profile = reader->follow->profile;
    uint32_t count;
    bool sent = reader->phase == PT_PUSH_SENT;
    if (!sent && profile->samples.count) {
        resolve(reader);
        pt_states_add_gc_frames(profile);
    }
    PT_AUTO_FREE struct pt_sample *samples = pt_take_samples(profile, &count);
    for (uint32_t i = 0; i < count && !sent; i++)
        samples[i].node = pt_task_stack(&reader->tasks, profile, samples[i].node, samples[i].labels);
    if (!sent)
        pt_fold_add(&reader->fold, profile);
    for (uint32_t i = 0; i < count && !sent; i++) {
        const struct pt_interval *interval = &profile->intervals.items[samples[i].interval];
        uint64_t end = samples[i].interval ? interval->start_unix_ns + interval->wall_ns : reader->to_unix_ns;
        uint32_t window = window_of(reader, end);
        if (window != PT_NONE)
            add(reader, &samples[i], window);
        if (reader->cells.count >= reader->cut_at && reader->windows > 1)
            cut(reader);
    }
    profile->intervals.count = 1;
    pt_index_free(&profile->intervals.index);
    profile->requests.count = 0;
    pt_index_free(&profile->requests.index);
}

static void read_phase(struct pt_push_reader *reader)
{
    bool complete;
    do {
        complete = pt_follow_read(reader->follow, SLICE_NS);
        sum_up(reader);
    } while (!complete);
}

static void set_time(struct pt_push_reader *reader, uint64_t from, uint64_t to)
{
    uint64_t windows = (to - from + reader->window_ns / 2) / reader->window_ns;
    reader->from_unix_ns = from;
    reader->to_unix_ns = to;
    reader->windows = windows < 1 ? 1 : windows < PT_NONE ? (uint32_t)windows : PT_NONE - 1;
    reader->cut = reader->more = false;
    reader->cut_at = CELLS_MAX;
}

/* Sets the time of a new batch. The clock may have been set since the last one. */
static void set_new_time(struct pt_push_reader *reader, uint64_t now, uint64_t elapsed)
{
    uint64_t until = reader->state->until_unix_ns, width = reader->window_ns;
    uint64_t age = reader->oldest_ns < now ? reader->oldest_ns : now - 1;
    if (until >= now)
        until = now - (elapsed < width ? elapsed + 1 : width);
    set_time(reader, until ? until : now - age / width * width, now);
}

static void read_known(struct pt_push_reader *reader, int phase)
{
    reader->phase = phase;
    if (reader->state->files.count)
        read_phase(reader);
}

void pt_push_reader_read(struct pt_push_reader *reader, uint64_t now_unix_ns, uint64_t elapsed_ns)
{
    const struct pt_push_state *state = reader->state;
    bool begins = !reader->follow;
    bool open = begins && state->batch_to_ns > state->until_unix_ns && state->until_unix_ns >= state->batch_from_ns;
    if (open)
        set_time(reader, state->until_unix_ns, state->batch_to_ns);
    else
        set_new_time(reader, now_unix_ns, elapsed_ns);
    if (begins) {
        begin(reader);
        read_known(reader, PT_PUSH_SENT);
        read_known(reader, PT_PUSH_BATCH);
    }
    reader->phase = PT_PUSH_NEW;
    if (!open)
        read_phase(reader);
    reader->more = open || reader->cut;
}

uint64_t pt_push_window_start(const struct pt_push_reader *reader, uint32_t window)
{
    return window >= reader->windows && !reader->cut ? reader->to_unix_ns
                                                     : reader->from_unix_ns + window * reader->window_ns;
}

void pt_push_reader_note(const struct pt_push_reader *reader, uint32_t window)
{
    struct pt_push_state *state = reader->state;
    struct pt_push_state before = {.files = state->files};
    bool whole = window >= reader->windows && !reader->cut, same = state->batch_to_ns == reader->to_unix_ns;
    memset(&state->files, 0, sizeof state->files);
    state->until_unix_ns = pt_push_window_start(reader, window);
    state->batch_from_ns = whole ? 0 : same ? state->batch_from_ns : reader->from_unix_ns;
    state->batch_to_ns = whole ? 0 : reader->to_unix_ns;
    for (uint32_t i = 0; i < reader->follow->sources.count; i++) {
        const struct pt_growing_file *source = &reader->follow->sources.items[i];
        if (!source->usable || !source->written_unix_ns || is_settled(source->written_unix_ns, state->until_unix_ns))
            continue;
        const char *name = name_of(reader, source->path);
        const struct pt_push_file *known = pt_push_state_find(&before, name);
        struct pt_push_file *file = pt_push_state_file(state, name);
        file->read = pt_growing_file_blocks(source);
        file->inode = source->inode;
        file->base = whole ? file->read : known && known->base <= file->read ? known->base : 0;
    }
    pt_push_state_forget_files(&before);
}

static void forget(struct pt_push_reader *reader)
{
    pt_follow_free(reader->follow);
    pt_fold_free(&reader->fold);
    pt_task_stacks_free(&reader->tasks);
    free(reader->services);
    free(reader->shown);
    reader->follow = NULL;
    reader->services = reader->shown = NULL;
    reader->service_capacity = reader->shown_capacity = 0;
}

/* Returns how much memory is ours; 0 if the kernel does not say. */
static size_t memory_used(void)
{
    unsigned long resident = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    bool read = file && fscanf(file, "%*u %lu %lu", &resident, &shared) == 2;
    if (file)
        fclose(file);
    return read && resident > shared ? (size_t)(resident - shared) * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

void pt_push_reader_next(struct pt_push_reader *reader)
{
    PT_FREE_TABLE(&reader->cells);
    memset(&reader->cells, 0, sizeof reader->cells);
    size_t used = memory_used();
    if (!reader->memory)
        reader->memory = used;
    if (reader->cut || (used > MEMORY_FROM && used > 2 * reader->memory)) {
        forget(reader);
#ifdef __GLIBC__
        malloc_trim(0);
#endif
        reader->memory = 0;
    }
}

void pt_push_reader_free(struct pt_push_reader *reader)
{
    if (reader->follow)
        forget(reader);
    PT_FREE_TABLE(&reader->cells);
}
