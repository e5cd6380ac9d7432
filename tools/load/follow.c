/* SPDX-License-Identifier: Apache-2.0 */
#include "follow.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Read in one go, more when a block is longer: samples of equal stacks in it are summed before the profile gets them.
 */
#define PORTION ((size_t)16 << 20)
/* The reader may need this much at once: it gives up on bytes that stay unreadable for twice the longest block. */
#define ROOM (2 * (size_t)PP_LOG_MAX_BLOCK + PORTION)
/* A process that is not in /proc is believed to be dead when it has written nothing for so long: it may be in another
 * pid namespace. */
#define SILENT_NS 5000000000u
#define NS        1000000000u

struct pt_source {
    char *path;
    uint32_t file;      /* its number in the files, if it is usable */
    bool named, usable; /* not usable: no log, or not yet */
    bool given_up;
    uint64_t seen_size; /* when there was nothing more to take in */
    struct pt_growing *segment;
    uint64_t before; /* bytes of earlier segments in the same file */
    uint64_t end;    /* bytes of this one that were read */
};

static void begin(struct pt_follow *follow)
{
    follow->profile = pt_profile_new(&follow->request);
    follow->profile->joins = &follow->files.joins;
    follow->generation++;
}

struct pt_follow *pt_follow_new(const struct pt_load_request *request, uint64_t keep_ns)
{
    struct pt_follow *follow = pt_alloc(1, sizeof *follow);
    follow->request = *request;
    follow->request.select = (struct pt_selection){0};
    follow->request.timed = true;
    follow->keep_ns = keep_ns;
    begin(follow);
    return follow;
}

static bool same_path(const void *sources, uint32_t number, const void *path)
{
    return strcmp(((const struct pt_source *)sources)[number].path, path) == 0;
}

/* A file without a whole first block is checked again when it has grown. */
static void check_path(struct pt_follow *follow, const char *path, bool named)
{
    uint32_t hash = pt_hash_bytes(path, strlen(path));
    uint32_t number = pt_index_find(&follow->sources.index, hash, same_path, follow->sources.items, path);
    struct stat status;
    if (number != PT_NONE && follow->sources.items[number].usable)
        return;
    if (stat(path, &status) != 0)
        return;
    if (number == PT_NONE) {
        number = follow->sources.count;
        *PT_APPEND(&follow->sources) = (struct pt_source){.path = pt_strdup(path), .named = named};
        pt_index_add(&follow->sources.index, hash, number);
    }
    struct pt_source *source = &follow->sources.items[number];
    if (source->seen_size == (uint64_t)status.st_size)
        return;
    source->seen_size = (uint64_t)status.st_size;
    source->file = follow->files.count;
    pt_files_add(&follow->files, path, false);
    if (follow->files.count > source->file && follow->files.items[source->file].start_unix_ns) {
        source->usable = true;
        source->seen_size = 0;
    }
}

static void check_log(void *follow, const char *path)
{
    check_path(follow, path, false);
}

static void scan_paths(struct pt_follow *follow)
{
    struct stat status;
    for (int i = 0; i < follow->request.path_count; i++) {
        const char *path = follow->request.paths[i];
        if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
            pt_each_log(path, check_log, follow);
        else
            check_path(follow, path, true);
    }
    if (follow->request.path_count)
        return;
    char *directory = pt_default_directory();
    pt_each_log(directory, check_log, follow);
    free(directory);
}

static bool is_here(const struct pt_process *process, const struct pt_profile *profile)
{
    struct utsname name;
    return uname(&name) == 0 && strcmp(pt_string(profile, process->host), name.nodename) == 0;
}

bool pt_follow_is_alive(const struct pt_follow *follow, uint32_t number, uint64_t now)
{
    const struct pt_process *process = &follow->profile->processes.items[number];
    char path[32];
    if (process->ended)
        return false;
    if (process->end_unix_ns + SILENT_NS > now || !is_here(process, follow->profile))
        return true;
    snprintf(path, sizeof path, "/proc/%" PRIu64, process->pid);
    return access(path, F_OK) == 0;
}

static void rewind_source(struct pt_source *source)
{
    pt_growing_free(source->segment);
    source->segment = NULL;
    source->before = source->end = 0;
    source->seen_size = 0;
    source->given_up = false;
}

/* A parent's log may appear after its child's: the run that is shown may turn out to be a part of another. */
static void join_runs(struct pt_follow *follow)
{
    if (follow->files.count == follow->joined)
        return;
    pt_files_join_runs(&follow->files);
    follow->joined = follow->files.count;
    for (uint32_t i = 0; follow->run && i < follow->files.joins.count; i++) {
        if (strcmp(follow->files.joins.items[i].own, follow->run) != 0)
            continue;
        free(follow->run);
        follow->run = pt_strdup(follow->files.joins.items[i].run);
    }
}

/* Chooses the run that began last, of those in directories. A later run replaces it only when none of its processes
 * runs: other programs may write into the same directory. */
static void choose_run(struct pt_follow *follow)
{
    const struct pt_file *latest = NULL;
    uint64_t now = pt_clock_ns(CLOCK_REALTIME);
    if (follow->request.run || follow->request.all)
        return;
    for (uint32_t i = 0; i < follow->sources.count; i++) {
        const struct pt_source *source = &follow->sources.items[i];
        const struct pt_file *file = source->usable ? &follow->files.items[source->file] : NULL;
        if (file && !source->named && !file->foreign && (!latest || file->start_unix_ns > latest->start_unix_ns))
            latest = file;
    }
    if (!latest || (follow->run && strcmp(follow->run, latest->run) == 0))
        return;
    for (uint32_t i = 0; follow->run && i < follow->profile->processes.count; i++)
        if (pt_follow_is_alive(follow, i, now))
            return;
    for (uint32_t i = 0; follow->run && i < follow->sources.count; i++)
        rewind_source(&follow->sources.items[i]);
    if (follow->run) {
        pt_profile_free(follow->profile);
        begin(follow);
    }
    free(follow->run);
    follow->run = pt_strdup(latest->run);
}

static bool is_wanted(const struct pt_follow *follow, const struct pt_source *source)
{
    if (!source->usable || source->given_up)
        return false;
    if (source->named || follow->request.all)
        return true;
    const char *run = follow->request.run ? follow->request.run : follow->run;
    const char *own = follow->files.items[source->file].own_run;
    return run && pt_run_is(&follow->files.joins, (struct pt_text){own, strlen(own)}, run);
}

static size_t read_at(int descriptor, char *data, size_t room, uint64_t at)
{
    size_t length = 0;
    while (length < room) {
        ssize_t got = pread(descriptor, data + length, room - length, (off_t)(at + length));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    return length;
}

/* Reads the next portion. Returns false if no whole block is left. */
static bool read_portion(struct pt_follow *follow, struct pt_source *source, int descriptor)
{
    uint64_t end = source->end;
    size_t got = 0;
    for (size_t room = PORTION;; room = 2 * room < ROOM ? 2 * room : ROOM) {
        got += read_at(descriptor, follow->data + got, room - got, source->before + source->end + got);
        if (!source->segment)
            source->segment = pt_growing_new(follow->profile, source->path);
        if (pt_growing_read(source->segment, follow->data, got, &end) != PT_READ_OK)
            source->given_up = true;
        if (end > source->end || got < room || room == ROOM || source->given_up)
            break;
    }
    size_t used = (size_t)(end - source->end);
    source->end = end;
    if (!source->end || !pt_segment_begins(follow->data + used, got - used))
        return used && !source->given_up;
    pt_growing_free(source->segment);
    source->segment = NULL;
    source->before += source->end;
    source->end = 0;
    return true;
}

/* Returns false if the time was over before the end of the file. */
static bool read_source(struct pt_follow *follow, struct pt_source *source, uint64_t deadline)
{
    struct stat status;
    if (stat(source->path, &status) != 0 || !S_ISREG(status.st_mode))
        return true;
    uint64_t size = (uint64_t)status.st_size, written = (uint64_t)status.st_mtim.tv_sec * NS;
    /* A writer takes back what a full disk has cut short: sizes may become smaller. */
    bool more = size != source->seen_size && size > source->before + source->end;
    bool in_time = pt_clock_ns(CLOCK_MONOTONIC) < deadline;
    int descriptor = more && in_time ? open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    /* A log that was copied, or whose process has ended, shows how it ended. */
    follow->request.timed_from_ns = written > follow->keep_ns ? written - follow->keep_ns : 1;
    while (descriptor >= 0 && in_time && (more = read_portion(follow, source, descriptor)))
        in_time = pt_clock_ns(CLOCK_MONOTONIC) < deadline;
    if (descriptor >= 0) {
        close(descriptor);
        source->seen_size = more ? 0 : size;
    }
    follow->size += size;
    follow->read += !more || source->before + source->end > size ? size : source->before + source->end;
    return !more || in_time;
}

/* A parent is known only when its log has been read: asks again whether processes are wanted that were refused. Rereads
 * whole files only: nothing is counted twice. */
static bool ask_again(struct pt_follow *follow)
{
    bool any = false;
    for (uint32_t i = 0; follow->request.wants && i < follow->sources.count; i++) {
        struct pt_source *source = &follow->sources.items[i];
        if (!source->segment || source->before || !pt_growing_is_wanted_after_all(source->segment))
            continue;
        rewind_source(source);
        any = true;
    }
    return any;
}

bool pt_follow_read(struct pt_follow *follow, uint64_t at_most_ns)
{
    uint64_t now = pt_clock_ns(CLOCK_MONOTONIC),
             deadline = at_most_ns < UINT64_MAX - now ? now + at_most_ns : UINT64_MAX;
    bool all;
    follow->data = pt_alloc(ROOM, 1); /* costs nothing until it is written */
    scan_paths(follow);
    join_runs(follow);
    choose_run(follow);
    do {
        all = true;
        follow->size = follow->read = follow->unusable = 0;
        for (uint32_t i = 0; i < follow->sources.count; i++) {
            struct pt_source *source = &follow->sources.items[i];
            if (is_wanted(follow, source))
                all = read_source(follow, source, deadline) && all;
            follow->unusable += !source->usable || source->given_up;
        }
    } while (ask_again(follow));
    free(follow->data);
    pt_run_joins_apply(&follow->files.joins, follow->profile);
    pt_profile_close_sums(follow->profile);
    return all;
}

void pt_follow_free(struct pt_follow *follow)
{
    for (uint32_t i = 0; i < follow->sources.count; i++) {
        pt_growing_free(follow->sources.items[i].segment);
        free(follow->sources.items[i].path);
    }
    pt_files_free(&follow->files);
    PT_FREE_TABLE(&follow->sources);
    pt_profile_free(follow->profile);
    free(follow->run);
    free(follow);
}
