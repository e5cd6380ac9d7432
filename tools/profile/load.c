#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../symbols/debuginfod.h"
#include "../symbols/inlines.h"
#include "../symbols/symbols.h"
#include "../view/frame_text.h"
#include "../view/gil_gc.h"
#include "../view/summary.h"
#include "files.h"
#include "merge.h"
#include "select.h"

/* Less than this is read before anyone wonders. */
#define PROGRESS_FROM (64u << 20)
/* Threads that read, and bytes from which on they are worth their while. */
#define PARTS      8
#define PARTS_FROM (32u << 20)

static bool progress_shown;

void pt_progress(const char *format, ...)
{
    if (!isatty(STDERR_FILENO))
        return;
    va_list arguments;
    va_start(arguments, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    progress_shown = true;
}

void pt_progress_end(void)
{
    if (progress_shown)
        fputs("\r\033[K", stderr);
    progress_shown = false;
}

void *pt_read_file(const char *path, size_t most, size_t *size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0)
        return NULL;
    if (fstat(descriptor, &status) != 0) {
        close(descriptor);
        return NULL;
    }
    size_t room = S_ISREG(status.st_mode) && (uint64_t)status.st_size < most ? (size_t)status.st_size : most;
    char *data = malloc(room + 1);
    size_t length = 0;
    while (data && length < room) {
        ssize_t got = read(descriptor, data + length, room - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(data);
            data = NULL;
        }
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    int error = errno;
    close(descriptor);
    errno = error;
    *size = length;
    return data;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* What processes have written elsewhere, having become a user that cannot write the directory. */
static void say_places(const struct pt_files *files, const struct pt_profile *profile)
{
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
        pt_error("with %" PRIu32 " file%s that could not be written there: %s%s", count, plural(count), path,
                 count > 1 ? " …" : "");
    if (files->closed && !all_ended)
        pt_error("there may be more of it in %s, which only its user and root can read", files->closed);
}

static void say_losses(const struct pt_files *files, const struct pt_profile *profile)
{
    const struct pt_read_losses *losses = &profile->losses;
    struct pt_buffer text = {0};
    if (losses->truncated_bytes)
        pt_buffer_format(&text, ", %" PRIu64 " bytes cut short at the end", losses->truncated_bytes);
    if (losses->damaged_blocks)
        pt_buffer_format(&text, ", %" PRIu64 " damaged block%s (%" PRIu64 " bytes)", losses->damaged_blocks,
                         plural(losses->damaged_blocks), losses->damaged_bytes);
    if (losses->missing_blocks)
        pt_buffer_format(&text, ", %" PRIu64 " missing block%s", losses->missing_blocks,
                         plural(losses->missing_blocks));
    if (losses->damaged_records)
        pt_buffer_format(&text, ", %" PRIu64 " malformed record%s", losses->damaged_records,
                         plural(losses->damaged_records));
    if (losses->repeated_blocks)
        pt_buffer_format(&text, ", %" PRIu64 " block%s there twice", losses->repeated_blocks,
                         losses->repeated_blocks == 1 ? " that is" : "s that are");
    if (losses->repeated_segments)
        pt_buffer_format(&text, ", %" PRIu64 " part%s there twice", losses->repeated_segments,
                         losses->repeated_segments == 1 ? " that is" : "s that are");
    if (files->unusable) {
        pt_buffer_text(&text, ", ");
        pt_files_append_unusable(&text, files);
    }
    if (text.length)
        pt_error("not read: %s", text.data + 2);
    pt_buffer_free(&text);
    say_places(files, profile);
}

/* Some of the files, read by a thread of its own. */
struct part {
    const struct pt_files *files;
    uint32_t begin, end;
    const struct pt_profile *like; /* what to keep */
    struct pt_profile *profile;
    uint64_t bytes; /* of all files */
    uint32_t read;
    atomic_uint *done;
    bool speaks; /* shows the progress of all */
    pthread_t thread;
};

static void *read_part(void *context)
{
    struct part *part = context;
    struct pt_profile *profile = part->profile = pt_profile_new();
    profile->keep_intervals = part->like->keep_intervals;
    profile->sums_only = part->like->sums_only;
    profile->stacks_only = part->like->stacks_only;
    profile->keep_usage = part->like->keep_usage;
    profile->only_run = part->like->only_run;
    profile->choice = part->like->choice;
    profile->plain = part->like->plain;
    profile->most_samples = part->like->most_samples;
    profile->merge_intervals = part->like->merge_intervals;
    profile->slots_from_ns = part->like->slots_from_ns;
    for (uint32_t i = part->begin; i < part->end && !profile->too_many; i++) {
        const char *path = part->files->items[i].path;
        unsigned done = atomic_fetch_add(part->done, 1) + 1;
        if (part->speaks && part->bytes >= PROGRESS_FROM)
            pt_progress("reading %u of %u files, %" PRIu64 " MB in all", done, part->files->count, part->bytes >> 20);
        size_t size;
        void *data = pt_read_file(path, part->files->items[i].size, &size);
        enum pt_read_result result = PT_READ_OK;
        if (data)
            result = pt_profile_add_segment(profile, data, size, path);
        if (!data || result != PT_READ_OK)
            pt_error("%s: %s", path, data ? pt_read_result_text(result) : strerror(errno));
        part->read += data && result == PT_READ_OK;
        free(data);
    }
    return NULL;
}

/* Files of one process have names that begin with the same pid: they should not be in two parts. */
static bool begin_alike(const char *a, const char *b)
{
    size_t length = strspn(pt_base_name(a), "0123456789");
    return length && strncmp(pt_base_name(a), pt_base_name(b), length + 1) == 0;
}

/* Parts of about the same size, in the order of the files, so that the result is that of one after the other. */
static uint32_t divide(const struct pt_files *files, uint64_t bytes, struct part *parts)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t most = bytes < PARTS_FROM || processors < 1 ? 1 : processors > PARTS ? PARTS : (uint32_t)processors;
    uint32_t count = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        sum += files->items[i].size;
        bool full = sum >= bytes * (count + 1) / most;
        bool last = i + 1 == files->count;
        if (!last && (!full || begin_alike(files->items[i].path, files->items[i + 1].path)))
            continue;
        parts[count].begin = count ? parts[count - 1].end : 0;
        parts[count++].end = i + 1;
    }
    return count;
}

static struct pt_profile *read_parts(const struct pt_files *files, const struct pt_profile *like, uint32_t *read)
{
    struct part parts[PARTS + 1] = {{0}};
    atomic_uint done = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < files->count; i++)
        bytes += files->items[i].size;
    uint32_t count = divide(files, bytes, parts);
    for (uint32_t i = count; i--;) {
        parts[i].files = files;
        parts[i].like = like;
        parts[i].bytes = bytes;
        parts[i].done = &done;
        parts[i].speaks = !i;
        if (!i || pthread_create(&parts[i].thread, NULL, read_part, &parts[i]) != 0) {
            parts[i].thread = 0;
            read_part(&parts[i]);
        }
    }
    for (uint32_t i = 1; i < count; i++)
        if (parts[i].thread)
            pthread_join(parts[i].thread, NULL);
    *read = parts[0].read;
    for (uint32_t i = 1; i < count; i++) {
        *read += parts[i].read;
        if (pt_profile_merge(parts[0].profile, parts[i].profile))
            continue;
        /* A process in two parts: all again, one after the other. */
        for (uint32_t j = i; j < count; j++)
            pt_profile_free(parts[j].profile);
        pt_profile_free(parts[0].profile);
        atomic_store(&done, 0);
        parts[0].begin = parts[0].read = 0;
        parts[0].end = files->count;
        read_part(&parts[0]);
        *read = parts[0].read;
        break;
    }
    return parts[0].profile;
}

/* The start of the run, which times of the command line count from. Not all segments are the first in their file: where
 * it matters, all are read. */
static uint64_t run_start(const struct pt_files *files, const struct pt_cli *cli)
{
    const struct pt_profile like = {.sums_only = true, .only_run = cli->run};
    uint64_t start = UINT64_MAX, end;
    uint32_t read;
    if (!pt_selects_time(cli)) {
        for (uint32_t i = 0; i < files->count; i++)
            if (files->items[i].start_unix_ns && files->items[i].start_unix_ns < start)
                start = files->items[i].start_unix_ns;
        return start == UINT64_MAX ? 0 : start;
    }
    struct pt_profile *sums = read_parts(files, &like, &read);
    pt_summary_span(sums, &start, &end);
    pt_profile_free(sums);
    return start;
}

static struct pt_profile *read_files(const struct pt_files *files, const struct pt_cli *cli, bool sums_only,
                                     bool *too_many)
{
    uint64_t start = sums_only ? 0 : run_start(files, cli);
    struct pt_choice *choice = sums_only ? NULL : pt_choice_new(cli, start);
    /* Sums of threads are of all their stacks. */
    bool apart = !pt_selects_names(cli) && (cli->keep_intervals || !pt_selects_stacks(cli));
    const struct pt_profile like = {.sums_only = sums_only,
                                    .stacks_only = cli->stacks_only && apart,
                                    .keep_intervals = cli->keep_intervals,
                                    .plain = cli->plain,
                                    .most_samples = cli->most_samples,
                                    .merge_intervals = cli->merge_intervals,
                                    .slots_from_ns = start,
                                    .choice = choice,
                                    .keep_usage = cli->intervals,
                                    .only_run = cli->run};
    uint32_t read;
    struct pt_profile *profile = read_parts(files, &like, &read);
    *too_many = profile->too_many;
    if (*too_many) {
        free(choice);
        pt_profile_free(profile);
        return NULL;
    }
    if (sums_only)
        pt_profile_close_sums(profile);
    else if (read)
        pt_profile_finish(profile);
    profile->choice = NULL;
    free(choice);
    if (read && !sums_only && !cli->no_names) {
        pt_debuginfod_fetch(profile);
        pt_symbols_resolve(profile);
        pt_states_add_gc_frames(profile);
        pt_native_lines_resolve(profile);
    }
    pt_progress_end();
    if (read && profile->processes.count)
        return profile;
    if (read)
        pt_error("%s: nothing recorded yet: the log ends before its first block", files->items[0].path);
    pt_profile_free(profile);
    return NULL;
}

struct pt_inputs {
    struct pt_files files;
    bool said; /* what is not read */
};

struct pt_inputs *pt_inputs_open(const struct pt_cli *cli)
{
    struct pt_inputs *inputs = pt_alloc(1, sizeof *inputs);
    if (pt_files_find(&inputs->files, cli) && pt_files_choose(&inputs->files, cli))
        return inputs;
    pt_inputs_free(inputs);
    return NULL;
}

struct pt_profile *pt_inputs_load(struct pt_inputs *inputs, const struct pt_cli *cli, bool *too_many)
{
    struct pt_profile *profile = read_files(&inputs->files, cli, false, too_many);
    if (profile && !inputs->said)
        say_losses(&inputs->files, profile);
    inputs->said |= profile != NULL;
    if (profile && !pt_select(profile, cli)) {
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

struct pt_profile *pt_load(const struct pt_cli *cli)
{
    bool too_many;
    struct pt_inputs *inputs = pt_inputs_open(cli);
    struct pt_profile *profile = inputs ? pt_inputs_load(inputs, cli, &too_many) : NULL;
    pt_inputs_free(inputs);
    return profile;
}

struct pt_profile *pt_load_sums(const struct pt_cli *cli)
{
    struct pt_files files = {0};
    struct pt_profile *profile = NULL;
    bool too_many;
    if (pt_files_find(&files, cli))
        profile = read_files(&files, cli, true, &too_many);
    if (profile)
        say_losses(&files, profile);
    pt_files_free(&files);
    return profile;
}

struct pt_profile *pt_load_named(const struct pt_cli *cli, const char *name)
{
    char *arguments[] = {pt_strdup(name), NULL};
    struct pt_cli one = *cli;
    struct stat status;
    one.arguments = arguments;
    one.argument_count = 1;
    if (stat(name, &status) != 0 && !strchr(name, '/') && !strchr(name, '.')) {
        one.run = name;
        one.argument_count = 0;
    }
    struct pt_profile *profile = pt_load(&one);
    free(arguments[0]);
    return profile;
}
