#include "load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame_text.h"
#include "select.h"
#include "states.h"
#include "symbols.h"

/* Enough for any PROCESS block: command lines end at 128 KiB each argument, logs cut theirs long before. */
#define PROCESS_BYTES (256u << 10)
/* Less than this is read before anyone wonders. */
#define PROGRESS_FROM (64u << 20)

struct file {
    char *path;
    char *run;
    uint64_t start_unix_ns, size;
    bool named; /* on the command line, not found in a directory */
};

struct files {
    struct file *items;
    uint32_t count, capacity;
    uint32_t unusable; /* in directories */
    char *an_unusable;
};

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

static char *text_copy(struct pp_text text)
{
    char *copy = pp_alloc(text.length + 1, 1);
    if (text.length)
        memcpy(copy, text.data, text.length);
    return copy;
}

/* Looks at the beginning of a file; false after a line on stderr when a file that was named is of no use. */
static bool add_file(struct files *files, const char *path, bool named)
{
    struct stat status;
    size_t size = 0;
    errno = 0;
    char *data = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? pp_read_file(path, PROCESS_BYTES, &size) : NULL;
    int error = errno;
    struct pp_segment segment = {0};
    enum pp_read_result result = data ? pp_segment_read_process(data, size, &segment) : PP_READ_NOT_A_PROFILE;
    bool usable = data && result == PP_READ_OK;
    if (usable) {
        files->items = pp_grow(files->items, &files->capacity, (uint64_t)files->count + 1, sizeof *files->items);
        files->items[files->count++] = (struct file){
            .path = pp_strdup(path),
            .run = text_copy(segment.process.run),
            .start_unix_ns = segment.process.start_unix_ns,
            .size = (uint64_t)status.st_size,
            .named = named,
        };
    } else if (named) {
        pp_error("%s: %s", path, data || !error ? pp_read_result_text(result) : strerror(error));
    } else {
        files->unusable++;
        if (!files->an_unusable)
            files->an_unusable = pp_strdup(path);
    }
    pp_segment_free(&segment);
    free(data);
    return usable || !named;
}

static int is_log(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), suffix = strlen(PP_LOG_SUFFIX);
    return length > suffix && strcmp(entry->d_name + length - suffix, PP_LOG_SUFFIX) == 0;
}

/* Number of logs in the directory, -1 when it cannot be read. */
static int add_directory(struct files *files, const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_log, alphasort);
    for (int i = 0; i < count; i++) {
        struct pp_buffer name = {0};
        pp_buffer_format(&name, "%s/%s", path, entries[i]->d_name);
        add_file(files, name.data, false);
        pp_buffer_free(&name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count;
}

static bool add_path(struct files *files, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        pp_error("%s: %s", path, strerror(errno));
        return false;
    }
    if (!S_ISDIR(status.st_mode))
        return add_file(files, path, true);
    int count = add_directory(files, path);
    if (count < 0)
        pp_error("%s: %s", path, strerror(errno));
    if (count == 0)
        pp_error("%s: no profile in this directory: record one with 'pyprof run -o %s -- python app.py'", path, path);
    return count > 0;
}

/* Without a path: where the library writes, then where it goes when it cannot write there. */
static bool add_default(struct files *files)
{
    const char *directory = getenv("PYPROF_OUT"), *temporary = getenv("TMPDIR");
    if (!directory || !*directory)
        directory = PP_DEFAULT_DIRECTORY;
    if (add_directory(files, directory) > 0)
        return true;
    struct pp_buffer fallback = {0};
    pp_buffer_format(&fallback, "%s/pyprof-%u", temporary && *temporary ? temporary : "/tmp", (unsigned)getuid());
    bool found = add_directory(files, fallback.data) > 0;
    if (found)
        pp_error("no profile in %s; reading %s", directory, fallback.data);
    else
        pp_error("no profile in %s: record one with 'pyprof run -- python app.py', or say where it is", directory);
    pp_buffer_free(&fallback);
    return found;
}

static bool in_run(const struct file *file, const char *run)
{
    return strncmp(file->run, run, strlen(run)) == 0;
}

static void drop_unless_run(struct files *files, const char *run, bool also_named)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        struct file *file = &files->items[i];
        if (in_run(file, run) || (file->named && !also_named)) {
            files->items[kept++] = *file;
            continue;
        }
        free(file->path);
        free(file->run);
    }
    files->count = kept;
}

/* Keeps the files of the runs that were asked for. */
static bool choose_runs(struct files *files, const struct pp_cli *cli)
{
    if (cli->run) {
        drop_unless_run(files, cli->run, true);
        if (!files->count)
            pp_error("no run '%s' here: 'pyprof info --all' lists what there is", cli->run);
        return files->count > 0;
    }
    const struct file *latest = NULL;
    for (uint32_t i = 0; i < files->count; i++)
        if (!files->items[i].named && (!latest || files->items[i].start_unix_ns > latest->start_unix_ns))
            latest = &files->items[i];
    if (!latest || cli->all)
        return true;
    char *run = pp_strdup(latest->run);
    uint32_t before = files->count;
    drop_unless_run(files, run, false);
    if (files->count < before)
        pp_error("showing the latest run, %s; %u file%s of other runs left out (--all merges, --run ID chooses)", run,
                 before - files->count, before - files->count == 1 ? "" : "s");
    free(run);
    return true;
}

static void say_losses(const struct files *files, const struct pp_read_losses *losses)
{
    struct pp_buffer text = {0};
    if (losses->truncated_bytes)
        pp_buffer_format(&text, ", %" PRIu64 " bytes cut short at the end", losses->truncated_bytes);
    if (losses->damaged_blocks)
        pp_buffer_format(&text, ", %" PRIu64 " damaged blocks (%" PRIu64 " bytes)", losses->damaged_blocks,
                         losses->damaged_bytes);
    if (losses->missing_blocks)
        pp_buffer_format(&text, ", %" PRIu64 " missing blocks", losses->missing_blocks);
    if (losses->damaged_records)
        pp_buffer_format(&text, ", %" PRIu64 " malformed records", losses->damaged_records);
    if (files->unusable)
        pp_buffer_format(&text, ", %u unusable file%s (%s%s)", files->unusable, files->unusable == 1 ? "" : "s",
                         files->an_unusable, files->unusable == 1 ? "" : " …");
    if (text.length)
        pp_error("not read: %s", text.data + 2);
    pp_buffer_free(&text);
}

static struct pp_profile *read_files(const struct files *files, bool keep_intervals)
{
    struct pp_profile *profile = pp_profile_new();
    profile->keep_intervals = keep_intervals;
    uint64_t bytes = 0;
    uint32_t read = 0;
    for (uint32_t i = 0; i < files->count; i++)
        bytes += files->items[i].size;
    for (uint32_t i = 0; i < files->count; i++) {
        const char *path = files->items[i].path;
        if (bytes >= PROGRESS_FROM)
            pp_progress("reading %u of %u files, %" PRIu64 " MB in all", i + 1, files->count, bytes >> 20);
        size_t size;
        void *data = pp_read_file(path, SIZE_MAX - 1, &size);
        enum pp_read_result result = PP_READ_OK;
        if (data)
            result = pp_profile_add_segment(profile, data, size, path);
        if (!data || result != PP_READ_OK)
            pp_error("%s: %s", path, data ? pp_read_result_text(result) : strerror(errno));
        read += data && result == PP_READ_OK;
        free(data);
    }
    if (read) {
        pp_profile_finish(profile);
        pp_symbols_resolve(profile);
        pp_states_add_gc_frames(profile);
    }
    pp_progress_end();
    if (read && profile->processes.count)
        return profile;
    if (read)
        pp_error("%s: nothing recorded yet: the log ends before its first block", files->items[0].path);
    pp_profile_free(profile);
    return NULL;
}

struct pp_profile *pp_load(const struct pp_cli *cli)
{
    struct files files = {0};
    struct pp_profile *profile = NULL;
    bool found = cli->argument_count ? true : add_default(&files);
    for (int i = 0; found && i < cli->argument_count; i++)
        found = add_path(&files, cli->arguments[i]);
    if (found && !files.count) {
        pp_error("%s: not a readable profile of this version", files.an_unusable);
        found = false;
    }
    if (found && choose_runs(&files, cli))
        profile = read_files(&files, cli->keep_intervals || pp_select_needs_intervals(cli));
    if (profile)
        say_losses(&files, &profile->losses);
    for (uint32_t i = 0; i < files.count; i++) {
        free(files.items[i].path);
        free(files.items[i].run);
    }
    free(files.items);
    free(files.an_unusable);
    if (profile && !pp_select(profile, cli)) {
        pp_profile_free(profile);
        profile = NULL;
    }
    return profile;
}
