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

#include "absorb.h"
#include "debuginfod.h"
#include "files.h"
#include "frame_text.h"
#include "native_lines.h"
#include "select.h"
#include "states.h"
#include "summary.h"
#include "symbols.h"

/* Less than this is read before anyone wonders. */
#define PROGRESS_FROM (64u << 20)
/* Threads that read, and bytes from which on they are worth their while. */
#define PARTS      8
#define PARTS_FROM (32u << 20)

static bool progress_shown;

void pp_progress(const char *format, ...)
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

void pp_progress_end(void)
{
    if (progress_shown)
        fputs("\r\033[K", stderr);
    progress_shown = false;
}

void *pp_read_file(const char *path, size_t most, size_t *size)
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
static void say_places(const struct pp_files *files, const struct pp_profile *profile)
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
        pp_error("with %" PRIu32 " file%s that could not be written there: %s%s", count, plural(count), path,
                 count > 1 ? " …" : "");
    if (files->closed && !all_ended)
        pp_error("there may be more of it in %s, which only its user and root can read", files->closed);
}

static void say_losses(const struct pp_files *files, const struct pp_profile *profile)
{
    const struct pp_read_losses *losses = &profile->losses;
    struct pp_buffer text = {0};
    if (losses->truncated_bytes)
        pp_buffer_format(&text, ", %" PRIu64 " bytes cut short at the end", losses->truncated_bytes);
    if (losses->damaged_blocks)
        pp_buffer_format(&text, ", %" PRIu64 " damaged block%s (%" PRIu64 " bytes)", losses->damaged_blocks,
                         plural(losses->damaged_blocks), losses->damaged_bytes);
    if (losses->missing_blocks)
        pp_buffer_format(&text, ", %" PRIu64 " missing block%s", losses->missing_blocks,
                         plural(losses->missing_blocks));
    if (losses->damaged_records)
        pp_buffer_format(&text, ", %" PRIu64 " malformed record%s", losses->damaged_records,
                         plural(losses->damaged_records));
    if (losses->repeated_blocks)
        pp_buffer_format(&text, ", %" PRIu64 " block%s there twice", losses->repeated_blocks,
                         losses->repeated_blocks == 1 ? " that is" : "s that are");
    if (losses->repeated_segments)
        pp_buffer_format(&text, ", %" PRIu64 " part%s there twice", losses->repeated_segments,
                         losses->repeated_segments == 1 ? " that is" : "s that are");
    if (files->unusable) {
        pp_buffer_text(&text, ", ");
        pp_files_append_unusable(&text, files);
    }
    if (text.length)
        pp_error("not read: %s", text.data + 2);
    pp_buffer_free(&text);
    say_places(files, profile);
}

/* Some of the files, read by a thread of its own. */
struct part {
    const struct pp_files *files;
    uint32_t begin, end;
    const struct pp_profile *like; /* what to keep */
    struct pp_profile *profile;
    uint64_t bytes; /* of all files */
    uint32_t read;
    atomic_uint *done;
    bool speaks; /* shows the progress of all */
    pthread_t thread;
};

static void *read_part(void *context)
{
    struct part *part = context;
    struct pp_profile *profile = part->profile = pp_profile_new();
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
            pp_progress("reading %u of %u files, %" PRIu64 " MB in all", done, part->files->count, part->bytes >> 20);
        size_t size;
        void *data = pp_read_file(path, part->files->items[i].size, &size);
        enum pp_read_result result = PP_READ_OK;
        if (data)
            result = pp_profile_add_segment(profile, data, size, path);
        if (!data || result != PP_READ_OK)
            pp_error("%s: %s", path, data ? pp_read_result_text(result) : strerror(errno));
        part->read += data && result == PP_READ_OK;
        free(data);
    }
    return NULL;
}

/* Files of one process have names that begin with the same pid: they should not be in two parts. */
static bool begin_alike(const char *a, const char *b)
{
    size_t length = strspn(pp_base_name(a), "0123456789");
    return length && strncmp(pp_base_name(a), pp_base_name(b), length + 1) == 0;
}

/* Parts of about the same size, in the order of the files, so that the result is that of one after the other. */
static uint32_t divide(const struct pp_files *files, uint64_t bytes, struct part *parts)
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

static struct pp_profile *read_parts(const struct pp_files *files, const struct pp_profile *like, uint32_t *read)
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
        if (pp_profile_absorb(parts[0].profile, parts[i].profile))
            continue;
        /* A process in two parts: all again, one after the other. */
        for (uint32_t j = i; j < count; j++)
            pp_profile_free(parts[j].profile);
        pp_profile_free(parts[0].profile);
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
static uint64_t run_start(const struct pp_files *files, const struct pp_cli *cli)
{
    const struct pp_profile like = {.sums_only = true, .only_run = cli->run};
    uint64_t start = UINT64_MAX, end;
    uint32_t read;
    if (!pp_selects_time(cli)) {
        for (uint32_t i = 0; i < files->count; i++)
            if (files->items[i].start_unix_ns && files->items[i].start_unix_ns < start)
                start = files->items[i].start_unix_ns;
        return start == UINT64_MAX ? 0 : start;
    }
    struct pp_profile *sums = read_parts(files, &like, &read);
    pp_summary_span(sums, &start, &end);
    pp_profile_free(sums);
    return start;
}

static struct pp_profile *read_files(const struct pp_files *files, const struct pp_cli *cli, bool sums_only,
                                     bool *too_many)
{
    uint64_t start = sums_only ? 0 : run_start(files, cli);
    struct pp_choice *choice = sums_only ? NULL : pp_choice_new(cli, start);
    /* Sums of threads are of all their stacks. */
    bool apart = !pp_selects_names(cli) && (cli->keep_intervals || !pp_selects_stacks(cli));
    const struct pp_profile like = {.sums_only = sums_only,
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
    struct pp_profile *profile = read_parts(files, &like, &read);
    *too_many = profile->too_many;
    if (*too_many) {
        free(choice);
        pp_profile_free(profile);
        return NULL;
    }
    if (sums_only)
        pp_profile_close_sums(profile);
    else if (read)
        pp_profile_finish(profile);
    profile->choice = NULL;
    free(choice);
    if (read && !sums_only && !cli->no_names) {
        pp_debuginfod_fetch(profile);
        pp_symbols_resolve(profile);
        pp_states_add_gc_frames(profile);
        pp_native_lines_resolve(profile);
    }
    pp_progress_end();
    if (read && profile->processes.count)
        return profile;
    if (read)
        pp_error("%s: nothing recorded yet: the log ends before its first block", files->items[0].path);
    pp_profile_free(profile);
    return NULL;
}

struct pp_inputs {
    struct pp_files files;
    bool said; /* what is not read */
};

struct pp_inputs *pp_inputs_open(const struct pp_cli *cli)
{
    struct pp_inputs *inputs = pp_alloc(1, sizeof *inputs);
    if (pp_files_find(&inputs->files, cli) && pp_files_choose(&inputs->files, cli))
        return inputs;
    pp_inputs_free(inputs);
    return NULL;
}

struct pp_profile *pp_inputs_load(struct pp_inputs *inputs, const struct pp_cli *cli, bool *too_many)
{
    struct pp_profile *profile = read_files(&inputs->files, cli, false, too_many);
    if (profile && !inputs->said)
        say_losses(&inputs->files, profile);
    inputs->said |= profile != NULL;
    if (profile && !pp_select(profile, cli)) {
        pp_profile_free(profile);
        profile = NULL;
    }
    return profile;
}

void pp_inputs_free(struct pp_inputs *inputs)
{
    if (inputs)
        pp_files_free(&inputs->files);
    free(inputs);
}

struct pp_profile *pp_load(const struct pp_cli *cli)
{
    bool too_many;
    struct pp_inputs *inputs = pp_inputs_open(cli);
    struct pp_profile *profile = inputs ? pp_inputs_load(inputs, cli, &too_many) : NULL;
    pp_inputs_free(inputs);
    return profile;
}

struct pp_profile *pp_load_sums(const struct pp_cli *cli)
{
    struct pp_files files = {0};
    struct pp_profile *profile = NULL;
    bool too_many;
    if (pp_files_find(&files, cli))
        profile = read_files(&files, cli, true, &too_many);
    if (profile)
        say_losses(&files, profile);
    pp_files_free(&files);
    return profile;
}

struct pp_profile *pp_load_named(const struct pp_cli *cli, const char *name)
{
    char *arguments[] = {pp_strdup(name), NULL};
    struct pp_cli one = *cli;
    struct stat status;
    one.arguments = arguments;
    one.argument_count = 1;
    if (stat(name, &status) != 0 && !strchr(name, '/') && !strchr(name, '.')) {
        one.run = name;
        one.argument_count = 0;
    }
    struct pp_profile *profile = pp_load(&one);
    free(arguments[0]);
    return profile;
}
