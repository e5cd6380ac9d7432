/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../log/reader.h"
#include "alive.h"
#include "read_file.h"

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
