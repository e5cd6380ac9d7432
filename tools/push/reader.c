/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../preload/common/label_kinds.h"
#include "../load/growing_file.h"
#include "../model/gil_gc.h"
#include "../symbols/symbols.h"

#define RESOLVE_SHARE 1000                /* reading files for names may take a part in so many of the time */
#define SPARE         (UINT64_C(1) << 17) /* nodes that may be known besides twice what was at first */
#define LABELS_MAX    8u                  /* of a sample */

PT_DEFINE_IDENTITY(cells, struct pt_push_cell, item->service, (uint64_t)item->node << 32 | item->labels)

/* Of a log that the state names, what follows counts, also if it was copied since. A log that was compacted since is
 * not longer, and was sent whole: its intervals may end later than what the state says, as the last window has all that
 * was there. Of other logs what ended later counts, and what was written late. */
static bool begin_file(void *data, const struct stat *status, struct pt_growing_file *source)
{
    const struct pt_push_reader *reader = data;
    const struct pt_push_state *state = reader->state;
    const struct pt_push_file *file = pt_push_state_find(state, pt_push_name(reader->directory, source->path));
    bool same = file && (file->inode == status->st_ino || (uint64_t)status->st_size > file->base);
    uint64_t from = reader->from_unix_ns, late = from < PT_PUSH_LATE_NS ? from : PT_PUSH_LATE_NS;
    if (!file && (reader->again || pt_push_is_settled((uint64_t)status->st_mtim.tv_sec * PT_SECOND, from)))
        return false;
    bool sent = file && !same && file->base == file->read;
    source->from = same ? file->base : sent ? (uint64_t)status->st_size : 0;
    source->limit = same && reader->again ? file->read : UINT64_MAX;
    source->timed = !source->from;
    source->since_unix_ns = file && (!same || source->from) ? from : from - late;
    return true;
}

static void sum_up(void *data);

/* Counts the logs of the state's batch that are not there any more. */
static void count_lost_batch(const struct pt_push_reader *reader)
{
    struct pt_push_state *state = reader->state;
    for (PT_EACH(const struct pt_push_file, file, &state->files)) {
        PT_AUTO_BUFFER path = pt_formatted("%s/%s", *file->name == '/' ? "" : reader->directory, file->name);
        if (file->read == file->base || access(path.data, F_OK) == 0)
            continue;
        state->removed++;
        state->removed_bytes += file->read - file->base;
    }
}

/* Moves what the reader of logs has missed to the state. */
static void count_gone(struct pt_push_reader *reader)
{
    struct pt_follow *follow = reader->follow;
    reader->state->removed += follow->gone;
    reader->state->removed_bytes += follow->gone_bytes;
    follow->gone = follow->gone_bytes = 0;
}

static uint32_t service_of(struct pt_push_reader *reader, uint32_t process)
{
    reader->services =
        pt_grow(reader->services, &reader->service_capacity, (uint64_t)process + 1, sizeof *reader->services);
    struct pt_process_service *service = &reader->services[process];
    if (!service->name) {
        uint32_t name = pt_push_service(reader->target, reader->follow->profile, process) + 1, first = 0;
        while (first < process && reader->services[first].name != name)
            first++;
        *service = (struct pt_process_service){name, first};
    }
    return service->name - 1;
}

static uint32_t counted_as(void *data, uint32_t process)
{
    const struct pt_push_reader *reader = data;
    bool known = process < reader->service_capacity && reader->services[process].name;
    return known ? reader->services[process].first : process;
}

static void begin(struct pt_push_reader *reader)
{
    struct pt_follow *follow = pt_follow_new(&reader->request, 0);
    follow->request.timed = false;
    follow->request.whole = true;
    follow->request.counted_as = counted_as;
    follow->request.counted_as_context = reader;
    follow->own_only = true;
    follow->begin = begin_file;
    follow->took = sum_up;
    follow->data = reader;
    reader->follow = follow;
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

static void add(struct pt_push_reader *reader, const struct pt_sample *sample)
{
    struct pt_profile *profile = reader->follow->profile;
    uint32_t node = pt_task_stack(&reader->tasks, profile, sample->node, sample->labels);
    pt_fold_add(&reader->fold, profile);
    const struct pt_push_cell cell = {
        .service = service_of(reader, profile->threads.items[sample->thread].process),
        .node = pt_fold_node(&reader->fold, node),
        .labels = shown_labels(reader, sample->labels),
    };
    uint32_t number = PT_FIND_OR_APPEND(&reader->cells, cells_hash(&cell), cells_same, &cell, cell);
    reader->cells.items[number].count += sample->count;
    reader->cells.items[number].cpu_ns += sample->cpu_ns;
}

/* Moves the samples that were read into the window. */
static void sum_up(void *data)
{
    struct pt_push_reader *reader = data;
    struct pt_profile *profile = reader->follow->profile;
    uint32_t count;
    if (!profile->samples.count)
        return;
    resolve(reader);
    pt_states_add_gc_frames(profile);
    const struct pt_sample *samples = pt_retake_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++)
        add(reader, &samples[i]);
}

/* Sets a window from this time on: what is left until now, if it is about as long as one. */
static void set_window(struct pt_push_reader *reader, uint64_t from, uint64_t now)
{
    reader->from_unix_ns = from;
    reader->more = now - from >= reader->window_ns + reader->window_ns / 2;
    reader->to_unix_ns = reader->more ? from + reader->window_ns : now;
}

/* The clock may have been set since the last window. */
static void set_next(struct pt_push_reader *reader, uint64_t now, uint64_t elapsed)
{
    uint64_t until = reader->state->until_unix_ns, width = reader->window_ns;
    uint64_t age = reader->oldest_ns < now ? reader->oldest_ns : now - 1;
    if (until >= now)
        until = now - (elapsed < width ? elapsed + 1 : width);
    set_window(reader, until ? until : now - age / width * width, now);
}

/* Leaves windows out that nothing ended in. */
static void skip(struct pt_push_reader *reader, uint64_t now)
{
    uint64_t next = pt_follow_next(reader->follow), from = reader->from_unix_ns, width = reader->window_ns;
    next = next && next < now ? next : now;
    uint64_t windows = next > from ? (next - from) / width : 0;
    if (windows && next == now && (now - from) % width < width / 2)
        windows--;
    set_window(reader, from + (windows ? windows : 1) * width, now);
}

/* Directories are read for each window: logs may have begun and ended while another one was sent. */
static void read_window(struct pt_push_reader *reader)
{
    struct pt_follow *follow = reader->follow;
    follow->compacted_until_unix_ns = reader->to_unix_ns;
    /* What ended now, by a clock that is set, or while it is read, is not later. */
    follow->until_unix_ns = reader->more && !reader->again ? reader->to_unix_ns : UINT64_MAX;
    pt_follow_read(follow, UINT64_MAX);
    count_gone(reader);
}

void pt_push_reader_scan(struct pt_push_reader *reader)
{
    pt_follow_scan(reader->follow);
    count_gone(reader);
}

void pt_push_reader_read(struct pt_push_reader *reader, uint64_t now_unix_ns, uint64_t elapsed_ns)
{
    const struct pt_push_state *state = reader->state;
    bool begins = !reader->follow;
    reader->again = begins && state->batch_to_ns > state->until_unix_ns && state->until_unix_ns >= state->batch_from_ns;
    if (begins)
        begin(reader);
    if (reader->again) {
        count_lost_batch(reader);
        reader->from_unix_ns = state->until_unix_ns;
        reader->to_unix_ns = state->batch_to_ns;
        reader->more = true;
        read_window(reader);
        for (uint32_t i = 0; i < reader->follow->sources.count; i++)
            reader->follow->sources.items[i].limit = UINT64_MAX;
        reader->again = false; /* what is found while it is sent counts for the next windows */
        return;
    }
    set_next(reader, now_unix_ns, elapsed_ns);
    for (;; skip(reader, now_unix_ns)) {
        read_window(reader);
        if (reader->cells.count || !reader->more)
            return;
    }
}

void pt_push_reader_note(const struct pt_push_reader *reader, bool sent)
{
    struct pt_push_state *state = reader->state;
    state->until_unix_ns = sent ? reader->to_unix_ns : reader->from_unix_ns;
    state->batch_from_ns = sent ? 0 : reader->from_unix_ns;
    state->batch_to_ns = sent ? 0 : reader->to_unix_ns;
    pt_push_state_note(state, reader->follow, reader->directory, sent);
}

static void forget(struct pt_push_reader *reader)
{
    pt_follow_free(reader->follow);
    pt_fold_free(&reader->fold);
    pt_task_stacks_free(&reader->tasks);
    free(reader->services);
    free(reader->shown);
    reader->follow = NULL;
    reader->services = NULL;
    reader->shown = NULL;
    reader->service_capacity = reader->shown_capacity = 0;
}

void pt_push_reader_next(struct pt_push_reader *reader)
{
    PT_FREE_TABLE(&reader->cells);
    memset(&reader->cells, 0, sizeof reader->cells);
    if (!pt_follow_is_stale(reader->follow, SPARE))
        return;
    forget(reader);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void pt_push_reader_free(struct pt_push_reader *reader)
{
    if (reader->follow)
        forget(reader);
    PT_FREE_TABLE(&reader->cells);
}
