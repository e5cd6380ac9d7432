/* SPDX-License-Identifier: Apache-2.0 */
#include "find_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/numbers.h"
#include "../base/output.h"
#include "control_file.h"

static void add_log(void *files, const char *path)
{
    pt_files_add(files, path, false);
}

/* Adds the logs of a directory. Where the latest run is asked for, it says that the directory is paused: a run that
 * began since then is not in it. Returns their number, -1 if it cannot be read. */
static int add_directory(struct pt_files *files, const char *directory, const char *run)
{
    PT_AUTO_BUFFER pause = {0};
    if (!run && pt_append_pause(&pause, directory))
        pt_message_to(files->messages, "%s", pause.data);
    return pt_each_log(directory, add_log, files);
}

static bool add_path(struct pt_files *files, const char *path, const char *run)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        pt_message_to(files->messages, "%s: %s", path, pt_read_error(errno));
        return false;
    }
    if (!S_ISDIR(status.st_mode))
        return pt_files_add(files, path, true);
    int count = add_directory(files, path, run);
    if (count < 0)
        pt_message_to(files->messages, "%s: %s", path, pt_read_error(errno));
    if (count == 0)
        pt_message_to(files->messages,
                      "%s: no profile in this directory: record one with 'pyprof run -o %s -- python app.py'", path,
                      path);
    return count > 0;
}

/* Of the fallback directory only a hint is given: what lies there may be of any program. */
static bool add_default(struct pt_files *files, const char *run, char *const *typed)
{
    PT_AUTO_FREE char *directory = pt_default_directory(), *fallback = pt_fallback_directory();
    int count = add_directory(files, directory, run);
    bool found = count > 0, closed = count < 0 && errno == EACCES;
    PT_AUTO_FREE char *latest = found ? NULL : pt_fallback_latest(fallback);
    PT_AUTO_BUFFER command = {0};
    pt_buffer_text(&command, typed ? "pyprof " : "pyprof report ");
    for (; typed && *typed; typed++) {
        pt_append_argument(&command, *typed);
        pt_buffer_text(&command, " ");
    }
    pt_append_argument(&command, fallback);
    if (closed)
        pt_message_to(files->messages, "%s: %s", directory, pt_read_error(EACCES));
    else if (!found && run)
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
    PT_AUTO_BUFFER text = {0};
    for (unsigned i = PT_READ_OK + 1; i < sizeof files->reasons / sizeof files->reasons[0]; i++)
        if (files->reasons[i].count && files->reasons[i].count == files->unusable)
            pt_buffer_format(&text, "%s%s: %s", files->reasons[i].path, files->unusable > 1 ? " …" : "",
                             pt_read_result_text(i));
    if (!text.length) {
        pt_buffer_text(&text, "nothing that can be read: ");
        pt_files_append_unusable(&text, files);
    }
    pt_message_to(files->messages, "%s", text.data);
}

PT_DEFINE_ORDER(by_start, struct pt_file,
                pt_compare(x->start_unix_ns, y->start_unix_ns) ?: pt_compare(x->segment, y->segment)
                    ?: strcmp(x->path, y->path))

bool pt_files_find(struct pt_files *files, const struct pt_load_request *request)
{
    files->messages = request->messages;
    bool found = request->path_count ? true : add_default(files, request->run, request->typed);
    for (int i = 0; found && i < request->path_count; i++)
        found = add_path(files, request->paths[i], request->run);
    if (found)
        pt_files_add_fallbacks(files, NULL, 0);
    if (found)
        pt_files_join_runs(files);
    uint32_t foreign =
        found && (request->own_only || (!request->all && !request->run)) ? pt_files_drop_foreign(files) : 0;
    if (found && !files->count && !foreign)
        say_nothing_usable(files);
    /* names begin with a pid, and pids start again at 1 */
    if (files->count)
        qsort(files->items, files->count, sizeof *files->items, by_start);
    longest_first(files);
    return found && files->count;
}
