/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/numbers.h"
#include "../base/output.h"
#include "../log/reader.h"
#include "alive.h"

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

/* Returns whether another user may have made the log up: in a directory that all may write to, it belongs neither to
 * the user that asks, nor to root, nor to the owner of the directory. */
static bool is_foreign(const char *path, uint32_t *owner)
{
    struct stat status = {0}, directory = {0};
    const char *slash = strrchr(path, '/');
    char *place = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
    lstat(path, &status);
    stat(place ? place : ".", &directory);
    free(place);
    *owner = status.st_uid;
    return directory.st_mode & S_IWOTH && *owner && *owner != geteuid() && *owner != directory.st_uid;
}

/* Sets whether the file's process runs, and how long the file was after that and when it was written. */
static void find_end(struct pt_files *files, struct pt_file *file)
{
    struct stat status;
    if (!files->own_machine)
        files->own_machine = pt_own_machine();
    file->alive = pt_alive(files->own_machine, file->machine, file->pid);
    if (stat(file->path, &status) != 0)
        return;
    file->size = (uint64_t)status.st_size;
    file->written_unix_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
}

bool pt_files_add(struct pt_files *files, const char *path, bool named)
{
    struct stat status;
    size_t size = 0;
    errno = 0;
    char *data =
        stat(path, &status) == 0 && S_ISREG(status.st_mode) ? pt_read_file(path, PT_PROCESS_BYTES, &size) : NULL;
    int error = errno;
    struct pt_segment segment = {0};
    enum pt_read_result result = data ? pt_segment_read_process(data, size, &segment) : PT_READ_NOT_A_PROFILE;
    bool usable = data && result == PT_READ_OK;
    if (usable) {
        const struct pt_log_process *process = &segment.process;
        struct pt_file *file = PT_APPEND(files);
        *file = (struct pt_file){
            .path = pt_strdup(path),
            .own_run = pt_strndup(process->run.data, process->run.length),
            .run = pt_strndup(process->run.data, process->run.length),
            .instance = pt_strndup(process->instance.data, process->instance.length),
            .machine = pt_machine(process->boot_id, process->pid_namespace),
            .segment = process->segment,
            .pid = process->pid,
            .ppid = process->ppid,
            .group = process->group,
            .start_unix_ns = process->start_unix_ns,
            .named = named,
        };
        find_end(files, file);
        file->foreign = is_foreign(path, &file->owner) && !named;
    } else if (named) {
        pt_message_to(files->messages, "%s: %s", path, data || !error ? pt_read_result_text(result) : strerror(error));
    } else {
        unsigned reason = data || !error ? result : PT_READ_OK;
        files->unusable++;
        files->reasons[reason].count++;
        files->reasons[reason].error = error;
        if (!files->reasons[reason].path)
            files->reasons[reason].path = pt_strdup(path);
    }
    pt_segment_free(&segment);
    free(data);
    return usable || !named;
}

bool pt_is_profile(const char *path)
{
    struct pt_files one = {0};
    bool found = pt_files_add(&one, path, false) && one.count;
    pt_files_free(&one);
    return found;
}

void pt_files_append_unusable(struct pt_buffer *text, const struct pt_files *files)
{
    static const char *const one[] = {"cannot be opened", "is no profile", "was damaged by a transfer in text mode",
                                      "is of a machine of another byte order", "is of another version"};
    static const char *const several[] = {"cannot be opened", "are no profiles",
                                          "were damaged by a transfer in text mode",
                                          "are of a machine of another byte order", "are of another version"};
    bool first = true;
    for (unsigned i = 0; i < sizeof one / sizeof one[0]; i++) {
        uint32_t count = files->reasons[i].count;
        if (!count)
            continue;
        pt_buffer_format(text, "%s%" PRIu32 " file%s that %s (%s%s", first ? "" : ", ", count, count == 1 ? "" : "s",
                         count == 1 ? one[i] : several[i], files->reasons[i].path, count == 1 ? "" : " …");
        pt_buffer_format(text, files->reasons[i].error && i == PT_READ_OK ? ": %s)" : ")",
                         strerror(files->reasons[i].error));
        first = false;
    }
}

static int is_log(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), suffix = strlen(PP_LOG_SUFFIX);
    return length > suffix && strcmp(entry->d_name + length - suffix, PP_LOG_SUFFIX) == 0;
}

int pt_each_log(const char *directory, void (*each)(void *argument, const char *path), void *argument)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, is_log, alphasort);
    for (int i = 0; i < count; i++) {
        struct pt_buffer path = {0};
        pt_buffer_format(&path, "%s/%s", directory, entries[i]->d_name);
        if (each)
            each(argument, path.data);
        pt_buffer_free(&path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count;
}

static void add_log(void *files, const char *path)
{
    pt_files_add(files, path, false);
}

static bool add_path(struct pt_files *files, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        pt_message_to(files->messages, "%s: %s", path, strerror(errno));
        return false;
    }
    if (!S_ISDIR(status.st_mode))
        return pt_files_add(files, path, true);
    int count = pt_each_log(path, add_log, files);
    if (count < 0)
        pt_message_to(files->messages, "%s: %s", path, strerror(errno));
    if (count == 0)
        pt_message_to(files->messages,
                      "%s: no profile in this directory: record one with 'pyprof run -o %s -- python app.py'", path,
                      path);
    return count > 0;
}

char *pt_default_directory(void)
{
    const char *directory = getenv("PYPROF_OUT");
    return pt_strdup(directory && *directory ? directory : PT_DEFAULT_DIRECTORY);
}

char *pt_directory_to_name(const char *output)
{
    char *directory = output ? pt_strdup(output) : pt_default_directory(), *read = pt_default_directory();
    if (strcmp(directory, PT_DEFAULT_DIRECTORY) == 0 && strcmp(read, PT_DEFAULT_DIRECTORY) == 0) {
        free(directory);
        directory = NULL;
    }
    free(read);
    return directory;
}

void pt_file_free(struct pt_file *file)
{
    free(file->path);
    free(file->own_run);
    free(file->run);
    free(file->machine);
    free(file->instance);
}

/* Of the fallback directory only a hint is given: what lies there may be of any program. */
static bool add_default(struct pt_files *files, const char *run, char *const *typed)
{
    char *directory = pt_default_directory(), *fallback = pt_fallback_directory();
    bool found = pt_each_log(directory, add_log, files) > 0;
    char *latest = found ? NULL : pt_fallback_latest(fallback);
    struct pt_buffer command = {0};
    pt_buffer_text(&command, typed ? "pyprof " : "pyprof report ");
    for (; typed && *typed; typed++) {
        pt_append_argument(&command, *typed);
        pt_buffer_text(&command, " ");
    }
    pt_append_argument(&command, fallback);
    if (!found && run)
        pt_message_to(files->messages, "%s: no such file or directory, and no profile in %s that could have this run",
                      run, directory);
    else if (latest)
        pt_message_to(
            files->messages,
            "no profile in %s; the latest in %s is of %s\nIf it is that: %s\nTo make one: pyprof run -- COMMAND",
            directory, fallback, latest, command.data);
    else if (!found)
        pt_message_to(files->messages,
                      "no profile in %s: record one with 'pyprof run -- python app.py', or give its path", directory);
    pt_buffer_free(&command);
    free(directory);
    free(fallback);
    free(latest);
    return found;
}

/* Puts longer copies of a log before shorter ones: only the first is read, and a copy that was taken while the log
 * grew, or was cut, has less of it. The files are in the order of by_start. */
static void longest_first(struct pt_files *files)
{
    for (uint32_t i = 1; i < files->count; i++) {
        struct pt_file *file = &files->items[i];
        for (struct pt_file *at = file;
             at-- > files->items && at->start_unix_ns == file->start_unix_ns && at->segment == file->segment;)
            if (*at->instance && strcmp(at->instance, file->instance) == 0 && at->size < file->size) {
                struct pt_file shorter = *at;
                *at = *file;
                *file = shorter;
                file = at;
            }
    }
}

static void say_nothing_usable(const struct pt_files *files)
{
    struct pt_buffer text = {0};
    for (unsigned i = PT_READ_OK + 1; i < sizeof files->reasons / sizeof files->reasons[0]; i++)
        if (files->reasons[i].count && files->reasons[i].count == files->unusable)
            pt_buffer_format(&text, "%s%s: %s", files->reasons[i].path, files->unusable > 1 ? " …" : "",
                             pt_read_result_text(i));
    if (!text.length) {
        pt_buffer_text(&text, "nothing that can be read: ");
        pt_files_append_unusable(&text, files);
    }
    pt_message_to(files->messages, "%s", text.data);
    pt_buffer_free(&text);
}

static int by_start(const void *a, const void *b)
{
    const struct pt_file *x = a, *y = b;
    return pt_compare(x->start_unix_ns, y->start_unix_ns) ?: pt_compare(x->segment, y->segment)
                                                          ?: strcmp(x->path, y->path);
}

bool pt_files_find(struct pt_files *files, const struct pt_load_request *request)
{
    files->messages = request->messages;
    bool found = request->path_count ? true : add_default(files, request->run, request->typed);
    for (int i = 0; found && i < request->path_count; i++)
        found = add_path(files, request->paths[i]);
    if (found)
        pt_files_add_fallbacks(files, NULL, 0);
    if (found)
        pt_files_join_runs(files);
    uint32_t foreign = found && !request->all && !request->run ? pt_files_drop_foreign(files) : 0;
    if (found && !files->count && !foreign)
        say_nothing_usable(files);
    /* names begin with a pid, and pids start again at 1 */
    if (files->count)
        qsort(files->items, files->count, sizeof *files->items, by_start);
    longest_first(files);
    return found && files->count;
}

void pt_files_free(struct pt_files *files)
{
    for (uint32_t i = 0; i < files->count; i++)
        pt_file_free(&files->items[i]);
    for (size_t i = 0; i < sizeof files->reasons / sizeof files->reasons[0]; i++)
        free(files->reasons[i].path);
    pt_run_joins_free(&files->joins);
    free(files->items);
    free(files->closed);
    free(files->own_machine);
    *files = (struct pt_files){0};
}
