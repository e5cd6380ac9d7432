/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/print.h"
#include "../log/reader.h"

#define PF_EXITING 4u /* the kernel's flag of a thread that exits; it may take long to free its memory */
#define KILL_BIT   (1u << (SIGKILL - 1))

void *pt_read_file(const char *path, size_t most, size_t *size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (descriptor < 0)
        return NULL;
    bool found = fstat(descriptor, &status) == 0;
    if (!found || !S_ISREG(status.st_mode)) {
        int error = !found ? errno : S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        close(descriptor);
        errno = error;
        return NULL;
    }
    size_t room = (uint64_t)status.st_size < most ? (size_t)status.st_size : most;
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

char *pt_machine(struct pt_text boot_id, struct pt_text pid_namespace)
{
    struct pt_buffer text = {0};
    pt_buffer_text(&text, "");
    pt_buffer_append(&text, boot_id.data, boot_id.length);
    pt_buffer_append(&text, pid_namespace.data, boot_id.length ? pid_namespace.length : 0);
    return text.data;
}

char *pt_own_machine(void)
{
    char boot_id[64] = "", pid_namespace[64];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    ssize_t length = readlink("/proc/self/ns/pid", pid_namespace, sizeof pid_namespace);
    if (!file || !fgets(boot_id, sizeof boot_id, file) || length <= 0)
        *boot_id = '\0';
    if (file)
        fclose(file);
    return pt_machine((struct pt_text){boot_id, strcspn(boot_id, "\n")},
                      (struct pt_text){pid_namespace, length > 0 ? (size_t)length : 0});
}

static bool seems_to_run(uint64_t pid)
{
    char path[32], text[512], state = 'X';
    unsigned flags = 0;
    uint64_t pending = 0;
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *end = strrchr(text, ')');
    if (end)
        sscanf(end,
               ") %c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%*s %*s %*s %" SCNu64,
               &state, &flags, &pending);
    return !strchr("ZX", state) && !(flags & PF_EXITING) && !(pending & KILL_BIT);
}

/* The kernel reads the flag before the signal: the process may take the signal, and set the flag, in between. */
bool pt_runs(uint64_t pid)
{
    return seems_to_run(pid) && seems_to_run(pid);
}

enum pt_alive pt_alive(const char *own, const char *machine, uint64_t pid)
{
    if (!*own || strcmp(machine, own) != 0)
        return PT_ALIVE_UNKNOWN;
    return pt_runs(pid) ? PT_ALIVE_YES : PT_ALIVE_NO;
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

/* Reads the first block of a log; the segment refers to *data, which the caller frees. Mostly little has to be read. */
static enum pt_read_result read_process(const char *path, char **data, struct pt_segment *segment)
{
    struct stat status;
    enum pt_read_result result = PT_READ_NOT_A_PROFILE;
    errno = 0;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return result;
    for (size_t most = PT_MOST_PROCESS_BYTES;; most = PT_PROCESS_BYTES) {
        size_t size = 0;
        *data = pt_read_file(path, most, &size);
        if (!*data)
            return result;
        result = pt_segment_read_process(*data, size, segment);
        if (segment->has_process || size < most || most == PT_PROCESS_BYTES)
            return result;
        pt_segment_free(segment);
        free(*data);
    }
}

bool pt_files_add(struct pt_files *files, const char *path, bool named)
{
    PT_AUTO_FREE char *data = NULL;
    PT_AUTO(pt_segment_free) struct pt_segment segment = {0};
    enum pt_read_result result = read_process(path, &data, &segment);
    int error = errno;
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
        pt_message_to(files->messages, "%s: %s", path,
                      data || !error ? pt_read_result_text(result) : pt_read_error(error));
    } else {
        unsigned reason = data || !error ? result : PT_READ_OK;
        files->unusable++;
        files->reasons[reason].count++;
        files->reasons[reason].error = error;
        if (!files->reasons[reason].path)
            files->reasons[reason].path = pt_strdup(path);
    }
    return usable || !named;
}

bool pt_is_profile(const char *path)
{
    PT_AUTO(pt_files_free) struct pt_files one = {0};
    bool found = pt_files_add(&one, path, false) && one.count;
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
                         pt_read_error(files->reasons[i].error));
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
        PT_AUTO_BUFFER path = pt_formatted("%s/%s", directory, entries[i]->d_name);
        if (each)
            each(argument, path.data);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count;
}

const char *pt_read_error(int error)
{
    return error == EACCES ? "Permission denied: run pyprof as the user that it belongs to, or as root"
                           : strerror(error);
}

bool pt_can_list(const char *directory)
{
    if (pt_each_log(directory, NULL, NULL) >= 0 || errno != EACCES)
        return true;
    return pt_error("%s: %s", directory, pt_read_error(errno));
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
