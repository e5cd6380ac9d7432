/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/numbers.h"
#include "../model/gil_gc.h"
#include "../model/selection.h"
#include "../query/select.h"
#include "../symbols/callers.h"
#include "../symbols/symbols.h"
#include "dynamic_code.h"
#include "file_times.h"
#include "files.h"
#include "find_files.h"
#include "parts.h"

/* Reading less than this takes no time that would need a message. */
#define PROGRESS_FROM (64u << 20)

static void append_loss(struct pt_buffer *text, uint64_t count, const char *one, const char *several)
{
    if (count)
        pt_buffer_format(text, ", %" PRIu64 " %s", count, count == 1 ? one : several);
}

static void report_losses(const struct pt_files *files, const struct pt_profile *profile)
{
    const struct pt_read_losses *losses = &profile->losses;
    struct pt_buffer text = {0};
    append_loss(&text, losses->truncated_bytes, "bytes cut short at the end", "bytes cut short at the end");
    append_loss(&text, losses->damaged_blocks, "damaged block", "damaged blocks");
    if (losses->damaged_blocks)
        pt_buffer_format(&text, " (%" PRIu64 " bytes)", losses->damaged_bytes);
    append_loss(&text, losses->missing_blocks, "missing block", "missing blocks");
    append_loss(&text, losses->damaged_records, "malformed record", "malformed records");
    append_loss(&text, losses->repeated_blocks, "block that is there twice", "blocks that are there twice");
    append_loss(&text, losses->repeated_segments, "part that is there twice", "parts that are there twice");
    if (files->unusable) {
        pt_buffer_text(&text, ", ");
        pt_files_append_unusable(&text, files);
    }
    if (text.length)
        pt_message_to(files->messages, "not read: %s", text.data + 2);
    pt_buffer_free(&text);
    /* Reports files of processes that became a user without the right to write to the directory, and wrote elsewhere.
     */
    const char *path = NULL;
    uint32_t count = 0;
    bool all_ended = true;
    for (uint32_t i = 0; i < files->count; i++) {
        count += files->items[i].fallback;
        path = files->items[i].fallback ? files->items[i].path : path;
    }
    for (uint32_t i = 0; i < profile->processes.count; i++)
        all_ended &= profile->processes.items[i].ended;
    if (count)
        pt_message_to(files->messages, "with %" PRIu32 " file%s that could not be written there: %s%s", count,
                      pt_plural(count, "s"), path, count > 1 ? " …" : "");
    if (files->closed && !all_ended)
        pt_message_to(files->messages, "there may be more of it in %s, which only its user and root can read",
                      files->closed);
}

/* The part of the files that one thread reads. */
struct part {
    const struct pt_files *files;
    uint32_t begin, end, read;
    struct pt_profile *profile;
    struct pt_buffer failures; /* lines */
    uint64_t bytes;            /* of all files */
    atomic_uint *done;
    bool first; /* it is read by the thread that loads, and shows the progress of all */
};

static void read_one(struct part *part, const struct pt_file *file)
{
    size_t size;
    PT_AUTO_FREE void *data = pt_read_file(file->path, file->size, &size);
    enum pt_read_result result = PT_READ_OK;
    if (data)
        result = pt_profile_add_segment(part->profile, data, size, file->path);
    if (!data || result != PT_READ_OK)
        pt_buffer_format(&part->failures, "%s: %s\n", file->path, data ? pt_read_result_text(result) : strerror(errno));
    else
        part->read++;
}

static void *read_part(void *data)
{
    struct part *part = data;
    for (uint32_t i = part->begin; i < part->end && !part->profile->too_many; i++) {
        unsigned done = atomic_fetch_add(part->done, 1) + 1;
        if (part->first && part->bytes >= PROGRESS_FROM)
            pt_progress_to(part->files->messages, "reading %u of %u files, %" PRIu64 " MB in all", done,
                           part->files->count, part->bytes >> 20);
        read_one(part, &part->files->items[i]);
    }
    return NULL;
}

/* What the times of a request count from. */
struct origin {
    uint64_t start_unix_ns, end_unix_ns;
    const struct pt_profile *earlier; /* of all processes, where it takes that; NULL: it does not */
};

static struct pt_profile *new_profile(const struct pt_files *files, const struct pt_load_request *request,
                                      struct origin origin)
{
    struct pt_profile *profile = pt_profile_new(request);
    profile->joins = &files->joins;
    profile->run_start_unix_ns = origin.start_unix_ns;
    profile->run_end_unix_ns = origin.end_unix_ns;
    profile->earlier = origin.earlier;
    return profile;
}

static void forget_part(struct part *part)
{
    pt_profile_free(part->profile);
    pt_buffer_clear(&part->failures);
    part->read = 0;
}

/* Makes the first part the whole. */
static void merge_parts(struct part *parts, uint32_t count)
{
    struct part *whole = &parts[0];
    const struct pt_load_request *request = whole->profile->request;
    struct origin origin = {whole->profile->run_start_unix_ns, whole->profile->run_end_unix_ns,
                            whole->profile->earlier};
    for (uint32_t i = 1; i < count; i++) {
        if (pt_profile_merge(whole->profile, parts[i].profile, NULL, 0)) {
            whole->read += parts[i].read;
            pt_buffer_text(&whole->failures, parts[i].failures.length ? parts[i].failures.data : "");
            continue;
        }
        /* A process is in two parts: read all files again, one after the other. */
        for (uint32_t j = i; j < count; j++)
            forget_part(&parts[j]);
        forget_part(whole);
        whole->profile = new_profile(whole->files, request, origin);
        whole->begin = 0;
        whole->end = whole->files->count;
        atomic_store(whole->done, 0);
        read_part(whole);
        break;
    }
}

static struct pt_profile *read_parts(const struct pt_files *files, const struct pt_load_request *request,
                                     struct origin origin, uint32_t *read)
{
    struct part parts[PT_PARTS + 1] = {{0}};
    struct pt_part_file *all = pt_alloc(files->count, sizeof *all);
    uint32_t ends[PT_PARTS + 1];
    atomic_uint done = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        all[i] = (struct pt_part_file){files->items[i].path, files->items[i].size};
        bytes += files->items[i].size;
    }
    uint32_t count = pt_parts_divide(all, files->count, ends);
    free(all);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = (struct part){.files = files,
                                 .begin = i ? ends[i - 1] : 0,
                                 .end = ends[i],
                                 .profile = new_profile(files, request, origin),
                                 .bytes = bytes,
                                 .done = &done,
                                 .first = !i};
    pt_parts_read(parts, sizeof *parts, count, read_part);
    merge_parts(parts, count);
    char *rest = parts[0].failures.data, *line;
    while ((line = strsep(&rest, "\n")) && *line)
        pt_message_to(files->messages, "%s", line);
    for (uint32_t i = 0; i < count; i++)
        pt_buffer_free(&parts[i].failures);
    *read = parts[0].read;
    return parts[0].profile;
}

/* Returns the start of the run. */
static uint64_t run_start(const struct pt_files *files, const struct pt_profile *earlier)
{
    uint64_t start = UINT64_MAX, end;
    if (earlier) {
        pt_profile_span(earlier, &start, &end);
        return start;
    }
    for (uint32_t i = 0; i < files->count; i++)
        if (files->items[i].start_unix_ns && files->items[i].start_unix_ns < start)
            start = files->items[i].start_unix_ns;
    return start == UINT64_MAX ? 0 : start;
}

/* Returns the files that may have what is selected, without copies of what they have; the last one if none has, whose
 * process is then known to have nothing of it. The caller frees the items. */
static struct pt_files files_in_time(const struct pt_files *files, const struct pt_load_request *request,
                                     struct origin origin)
{
    const struct pt_profile times = {
        .request = request, .run_start_unix_ns = origin.start_unix_ns, .run_end_unix_ns = origin.end_unix_ns};
    struct pt_files chosen = *files;
    uint64_t from, to;
    pt_selected_times(&times, &from, &to);
    chosen.items = pt_copy(files->items, files->count, sizeof *files->items);
    chosen.count = 0;
    for (uint32_t i = 0; i < files->count; i++)
        if (pt_file_may_have(&files->items[i], from, to) || (i + 1 == files->count && !chosen.count))
            chosen.items[chosen.count++] = files->items[i];
    return chosen;
}

/* Sets whether processes run that have not ended by their logs. Of those that share a file with others the kernel is
 * asked here. */
static void find_ends(const struct pt_files *files, struct pt_profile *profile)
{
    for (PT_EACH(struct pt_process, process, &profile->processes)) {
        bool found = process->ended;
        for (uint32_t j = 0; j < files->count && !process->ended; j++) {
            const struct pt_file *file = &files->items[j];
            if (file->pid != process->pid || strcmp(file->instance, pt_string(profile, process->instance)) != 0)
                continue;
            process->alive = file->alive > process->alive ? file->alive : process->alive;
            found = true;
        }
        if (found)
            continue;
        const char *boot_id = pt_string(profile, process->boot_id), *space = pt_string(profile, process->pid_namespace);
        PT_AUTO_FREE char *machine =
            pt_machine((struct pt_text){boot_id, strlen(boot_id)}, (struct pt_text){space, strlen(space)});
        process->alive = pt_alive(files->own_machine, machine, process->pid);
    }
}

static struct pt_profile *read_files(const struct pt_files *files, const struct pt_load_request *request,
                                     bool *too_many)
{
    bool samples = request->keep != PT_KEEP_SUMS;
    const struct pt_selection *select = &request->select;
    const struct pt_load_request sums_only = {
        .keep = PT_KEEP_SUMS, .run = request->run, .ready = select->from.ready || select->to.ready};
    struct pt_profile *earlier = NULL;
    struct origin origin = {0};
    uint32_t read;
    /* Not all segments are the first in their file: all are read for the start of the run. */
    if (samples && (sums_only.ready || select->from.of_run_ns || select->to.of_run_ns))
        origin.earlier = earlier = read_parts(files, &sums_only, origin, &read);
    if (samples)
        origin.start_unix_ns = run_start(files, earlier);
    if (samples && (select->from.before_end_ns || select->to.before_end_ns))
        origin.end_unix_ns = pt_files_end(files);
    struct pt_files chosen = files_in_time(files, request, origin);
    struct pt_profile *profile = read_parts(&chosen, request, origin, &read);
    free(chosen.items);
    pt_run_joins_apply(&files->joins, profile);
    find_ends(files, profile);
    profile->joins = NULL;
    profile->earlier = NULL;
    pt_profile_free(earlier);
    *too_many = profile->too_many;
    if (*too_many) {
        pt_profile_free(profile);
        return NULL;
    }
    if (!samples)
        pt_profile_close_sums(profile);
    else if (read)
        pt_profile_finish(profile);
    if (read && samples && !request->no_names) {
        pt_dynamic_code_resolve(profile);
        pt_symbols_resolve(profile);
        if (request->callers)
            pt_symbols_name_callers(profile);
        pt_states_add_gc_frames(profile);
    }
    pt_progress_end(request->messages);
    if (read && profile->processes.count)
        return profile;
    if (read)
        pt_message_to(request->messages, "%s: nothing recorded yet: the log ends before its first block",
                      files->items[0].path);
    pt_profile_free(profile);
    return NULL;
}

struct pt_inputs {
    struct pt_files files;
    bool reported; /* what is not read */
};

struct pt_inputs *pt_inputs_open(const struct pt_load_request *request)
{
    struct pt_inputs *inputs = pt_alloc(1, sizeof *inputs);
    if (pt_files_find(&inputs->files, request) &&
        (request->keep == PT_KEEP_SUMS || pt_files_choose(&inputs->files, request)))
        return inputs;
    pt_inputs_free(inputs);
    return NULL;
}

struct pt_profile *pt_inputs_load(struct pt_inputs *inputs, const struct pt_load_request *request, bool *too_many)
{
    struct pt_profile *profile = read_files(&inputs->files, request, too_many);
    if (profile && !inputs->reported)
        report_losses(&inputs->files, profile);
    inputs->reported |= profile != NULL;
    if (profile && request->keep != PT_KEEP_SUMS && !pt_select(profile)) {
        pt_profile_free(profile);
        profile = NULL;
    }
    return profile;
}

void pt_inputs_free(struct pt_inputs *inputs)
{
    if (inputs)
        pt_files_free(&inputs->files);
    free(inputs);
}

struct pt_profile *pt_load(const struct pt_load_request *request)
{
    bool too_many;
    struct pt_inputs *inputs = pt_inputs_open(request);
    struct pt_profile *profile = inputs ? pt_inputs_load(inputs, request, &too_many) : NULL;
    pt_inputs_free(inputs);
    return profile;
}

void pt_request_named(struct pt_load_request *request, char *const *name)
{
    struct stat status;
    request->paths = name;
    request->path_count = 1;
    if (stat(*name, &status) == 0 || strchr(*name, '/') || strchr(*name, '.'))
        return;
    request->run = *name;
    request->path_count = 0;
}
