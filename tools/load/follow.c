/* SPDX-License-Identifier: Apache-2.0 */
#include "follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "files.h"
#include "growing_file.h"
#include "parts.h"

/* A process that is not in /proc is believed to be dead when it has written nothing for so long: it may be in another
 * pid namespace. */
#define SILENT_NS 5000000000u
#define IDLE_NS   UINT64_C(180000000000) /* a log that nothing is written to for so long is not expected to grow */
#define TAKEN     1024u                  /* groups of sums, of some 300 bytes: these stay in the processor's cache */

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
    follow->request.select = (struct pt_selection){.join_pools = request->select.join_pools};
    follow->request.timed = follow->request.plain = true;
    follow->keep_ns = keep_ns;
    follow->until_unix_ns = follow->compacted_until_unix_ns = UINT64_MAX;
    begin(follow);
    return follow;
}

static bool same_path(const void *sources, uint32_t number, const void *path)
{
    return strcmp(((const struct pt_growing_file *)sources)[number].path, path) == 0;
}

/* A file without a whole first block is checked again when it has grown. */
static void check_path(struct pt_follow *follow, const char *path, bool named)
{
    uint32_t hash = pt_hash_bytes(path, strlen(path));
    uint32_t number = pt_index_find(&follow->sources.index, hash, same_path, follow->sources.items, path);
    struct stat status;
    if (stat(path, &status) != 0)
        return;
    if (number == PT_NONE) {
        struct pt_growing_file source = {.path = (char *)path, .named = named, .limit = UINT64_MAX};
        if (follow->begin && !follow->begin(follow->data, &status, &source))
            return;
        source.path = pt_strdup(path);
        number = follow->sources.count;
        *PT_APPEND(&follow->sources) = source;
        pt_index_add(&follow->sources.index, hash, number);
    }
    struct pt_growing_file *source = &follow->sources.items[number];
    pt_growing_file_note(source, &status);
    if (source->usable || source->seen_size == (uint64_t)status.st_size)
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

static void find_paths(struct pt_follow *follow)
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
    PT_AUTO_FREE char *directory = pt_default_directory();
    pt_each_log(directory, check_log, follow);
}

/* Counts a log that is not there any more and was not read to its end. While it is open it can still be read. */
static void note_gone(struct pt_follow *follow, const struct pt_growing_file *source)
{
    uint64_t size = source->size_before, read = source->before + source->end;
    if (!size || source->inode_there || source->descriptor || !source->usable || source->given_up ||
        source->seen_size == size || size <= read)
        return;
    follow->gone++;
    follow->gone_bytes += size - read;
}

void pt_follow_scan(struct pt_follow *follow)
{
    for (PT_EACH(struct pt_growing_file, source, &follow->sources)) {
        source->size_before = source->size;
        pt_growing_file_note(source, NULL);
    }
    find_paths(follow);
    for (uint32_t i = 0; i < follow->sources.count; i++)
        note_gone(follow, &follow->sources.items[i]);
}

static bool is_here(const struct pt_process *process, const struct pt_profile *profile)
{
    struct utsname name;
    return uname(&name) == 0 && strcmp(pt_string(profile, process->host), name.nodename) == 0;
}

bool pt_follow_is_alive(const struct pt_follow *follow, uint32_t number, uint64_t now)
{
    const struct pt_process *process = &follow->profile->processes.items[number];
    if (process->ended)
        return false;
    if (process->end_unix_ns + SILENT_NS > now || !is_here(process, follow->profile))
        return true;
    return pt_runs(process->pid);
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
    for (PT_EACH(const struct pt_growing_file, source, &follow->sources)) {
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
        pt_growing_file_rewind(&follow->sources.items[i]);
    if (follow->run) {
        pt_profile_free(follow->profile);
        begin(follow);
    }
    free(follow->run);
    follow->run = pt_strdup(latest->run);
}

static bool is_wanted(const struct pt_follow *follow, const struct pt_growing_file *source)
{
    if (!source->usable || source->given_up)
        return false;
    const struct pt_file *file = &follow->files.items[source->file];
    if ((file->foreign && follow->own_only && !source->named) || file->start_unix_ns >= follow->until_unix_ns)
        return false;
    if (source->named || follow->request.all)
        return true;
    const char *run = follow->request.run ? follow->request.run : follow->run;
    const char *own = file->own_run;
    return run && pt_run_is(&follow->files.joins, (struct pt_text){own, strlen(own)}, run);
}

/* A parent is known only when its log has been read: asks again whether processes are wanted that were refused. Rereads
 * whole files only: nothing is counted twice. */
static bool ask_again(struct pt_follow *follow)
{
    bool any = false;
    for (uint32_t i = 0; follow->request.wants && i < follow->sources.count; i++) {
        struct pt_growing_file *source = &follow->sources.items[i];
        if (!source->segment || source->before || !pt_growing_is_wanted_after_all(source->segment))
            continue;
        pt_growing_file_rewind(source);
        any = true;
    }
    return any;
}

/* What one thread reads of the sources that several read. */
struct part {
    struct pt_growing_file **sources;
    uint32_t count;
    struct pt_load_request request;
    struct pt_growing_reader reader;
};

static void *read_part(void *data)
{
    struct part *part = data;
    for (uint32_t i = 0; i < part->count; i++)
        pt_growing_file_read(part->sources[i], &part->reader);
    free(part->reader.data);
    return NULL;
}

/* Gives what a part has read to the profile. If that has other files of its processes, they are read again after those.
 */
static void merge_part(struct pt_follow *follow, struct part *part)
{
    PT_AUTO_FREE struct pt_growing **growing = pt_alloc(part->count, sizeof *growing);
    uint32_t count = 0;
    for (uint32_t i = 0; i < part->count; i++)
        if (part->sources[i]->segment)
            growing[count++] = part->sources[i]->segment;
    if (!pt_profile_merge(follow->profile, part->reader.profile, growing, count)) {
        for (uint32_t i = 0; i < part->count; i++) {
            pt_growing_file_rewind(part->sources[i]);
            part->sources[i]->in_order = true;
        }
        pt_profile_free(part->reader.profile);
    }
}

/* Finds the wanted sources of processes of which nothing was read yet. */
static uint32_t find_untouched(const struct pt_follow *follow, struct pt_growing_file **found,
                               struct pt_part_file *files)
{
    struct pt_growing_file *all = follow->sources.items;
    uint32_t count = 0;
    for (uint32_t i = 0, next; i < follow->sources.count; i = next) {
        bool touched = false;
        for (next = i;
             next == i || (next < follow->sources.count && pt_are_of_one_process(all[i].path, all[next].path)); next++)
            touched |= all[next].segment || all[next].before || all[next].in_order;
        for (uint32_t k = i; k < next && !touched; k++) {
            if (!is_wanted(follow, &all[k]))
                continue;
            found[count] = &all[k];
            files[count++] = (struct pt_part_file){all[k].path, follow->files.items[all[k].file].size};
        }
    }
    return count;
}

/* Lets several threads read the logs that nothing was read of, if these are many bytes. */
static void read_together(struct pt_follow *follow, uint64_t deadline)
{
    PT_AUTO_FREE struct pt_growing_file **sources = pt_alloc(follow->sources.count, sizeof *sources);
    PT_AUTO_FREE struct pt_part_file *files = pt_alloc(follow->sources.count, sizeof *files);
    struct part parts[PT_PARTS + 1];
    uint32_t ends[PT_PARTS + 1];
    uint32_t count = pt_parts_divide(files, find_untouched(follow, sources, files), ends);
    for (uint32_t i = 0, begin = 0; i < count && count > 1; begin = ends[i++]) {
        parts[i] = (struct part){.sources = sources + begin, .count = ends[i] - begin, .request = follow->request};
        parts[i].reader = (struct pt_growing_reader){.request = &parts[i].request,
                                                     .profile = pt_profile_new(&parts[i].request),
                                                     .keep_ns = follow->keep_ns,
                                                     .deadline = deadline,
                                                     .until_unix_ns = UINT64_MAX,
                                                     .compacted_until_unix_ns = UINT64_MAX};
        parts[i].reader.profile->joins = &follow->files.joins;
    }
    if (count > 1)
        pt_parts_read(parts, sizeof *parts, count, read_part);
    for (uint32_t i = 0; i < count && count > 1; i++)
        merge_part(follow, &parts[i]);
}

static uint64_t weight_of(const struct pt_follow *follow)
{
    const struct pt_profile *profile = follow->profile;
    return profile->nodes.count + 4 * (uint64_t)profile->strings.count + 4 * (uint64_t)profile->threads.count +
           64 * (uint64_t)profile->processes.count + 32 * (uint64_t)follow->sources.count;
}

/* Reads of new logs what comes before their first samples: a process may have its service's name from its parent, whose
 * log may be read after its own. */
static void read_processes(struct pt_follow *follow, struct pt_growing_reader *reader)
{
    struct pt_growing_reader first = *reader;
    first.until_unix_ns = first.compacted_until_unix_ns = 0;
    for (PT_EACH(struct pt_growing_file, source, &follow->sources))
        if (!source->segment && !source->released && is_wanted(follow, source))
            pt_growing_file_read(source, &first);
    reader->data = first.data;
}

static void take(struct pt_follow *follow)
{
    pt_put_whole(follow->profile);
    follow->took(follow->data);
}

/* Lets samples be taken, and the tables of logs go that nothing was written to for minutes. */
static void took(struct pt_follow *follow, struct pt_growing_file *source, uint64_t now_unix_ns)
{
    uint64_t read = source->before + source->end;
    if (!follow->begin)
        return;
    if (follow->profile->whole.count > TAKEN)
        take(follow);
    if (source->segment && source->seen_size == source->size && source->written_unix_ns + IDLE_NS < now_unix_ns)
        pt_growing_file_release(source);
    follow->stale |= source->released && source->size > read && source->inode == source->inode_there;
    /* Of another file in its place only times say what is left. */
    follow->stale |=
        source->next_unix_ns && !source->descriptor && source->inode_there && source->inode != source->inode_there;
}

/* Counts the logs that are there and cannot be opened, and says so once. One that is empty or gone is none of them: a
 * process was killed when it had just begun, or its log was removed. */
static void count_unopened(struct pt_follow *follow)
{
    const char *path = NULL;
    int error = 0;
    follow->unopened = 0;
    for (PT_EACH(const struct pt_growing_file, source, &follow->sources)) {
        if (source->usable || !source->inode_there || access(source->path, R_OK) == 0 || errno == ENOENT)
            continue;
        follow->unopened++;
        path = source->path;
        error = errno;
    }
    if (path && !follow->said_unopened)
        pt_message("%s and what else cannot be opened is left out: %s", path, pt_read_error(error));
    follow->said_unopened = path;
}

bool pt_follow_read(struct pt_follow *follow, uint64_t at_most_ns)
{
    uint64_t now = pt_clock_ns(CLOCK_MONOTONIC),
             deadline = at_most_ns < UINT64_MAX - now ? now + at_most_ns : UINT64_MAX;
    bool all;
    pt_follow_scan(follow);
    join_runs(follow);
    choose_run(follow);
    uint64_t now_unix_ns = pt_clock_ns(CLOCK_REALTIME);
    struct pt_growing_reader reader = {.request = &follow->request,
                                       .profile = follow->profile,
                                       .keep_ns = follow->keep_ns,
                                       .deadline = deadline,
                                       .until_unix_ns = follow->until_unix_ns,
                                       .compacted_until_unix_ns = follow->compacted_until_unix_ns};
    if (follow->begin)
        read_processes(follow, &reader);
    do {
        all = true;
        follow->size = follow->read = follow->unusable = 0;
        if (!follow->begin)
            read_together(follow, deadline);
        for (PT_EACH(struct pt_growing_file, source, &follow->sources)) {
            if (is_wanted(follow, source)) {
                all = (source->released || pt_growing_file_read(source, &reader)) && all;
                took(follow, source, now_unix_ns);
                follow->size += source->size;
                follow->read += pt_growing_file_done(source);
            }
            follow->unusable += !source->usable || source->given_up;
        }
    } while (ask_again(follow));
    free(reader.data);
    pt_run_joins_apply(&follow->files.joins, follow->profile);
    pt_profile_close_sums(follow->profile);
    if (follow->begin) {
        take(follow);
        count_unopened(follow);
    }
    if (all && !follow->weight)
        follow->weight = weight_of(follow);
    return all;
}

uint64_t pt_follow_next(const struct pt_follow *follow)
{
    uint64_t next = 0;
    for (PT_EACH(const struct pt_growing_file, source, &follow->sources)) {
        uint64_t start = source->usable ? follow->files.items[source->file].start_unix_ns : 0;
        uint64_t own = start >= follow->until_unix_ns ? start : source->next_unix_ns;
        next = own && (!next || own < next) ? own : next;
    }
    return next;
}

bool pt_follow_is_stale(const struct pt_follow *follow, uint64_t spare)
{
    return follow->stale || (follow->weight && weight_of(follow) > 2 * follow->weight + spare);
}

void pt_follow_free(struct pt_follow *follow)
{
    for (uint32_t i = 0; i < follow->sources.count; i++) {
        pt_growing_file_end(&follow->sources.items[i]);
    }
    pt_files_free(&follow->files);
    PT_FREE_TABLE(&follow->sources);
    pt_profile_free(follow->profile);
    free(follow->run);
    free(follow);
}
