/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the runs of a request among the files that were found. */
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/print.h"
#include "files.h"
#include "read_file.h"

static void append_user(struct pt_buffer *text, uint32_t user)
{
    struct passwd entry, *found = NULL;
    char strings[4096];
    pt_buffer_format(text, "user %" PRIu32, user);
    if (getpwuid_r(user, &entry, strings, sizeof strings, &found) == 0 && found)
        pt_buffer_format(text, " (%s)", entry.pw_name);
}

uint32_t pt_files_drop_foreign(struct pt_files *files)
{
    struct pt_buffer text = {0};
    uint32_t kept = 0, dropped = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        struct pt_file file = files->items[i];
        bool own = !file.foreign;
        for (uint32_t j = 0; j < files->count && !own; j++)
            own = !files->items[j].foreign && strcmp(files->items[j].run, file.run) == 0;
        if (!own && !dropped++) {
            pt_buffer_format(&text, "run %.8s of ", file.run);
            append_user(&text, file.owner);
        }
        files->items[i] = files->items[kept];
        files->items[own ? kept++ : i] = file;
    }
    for (uint32_t i = kept; i < files->count; i++)
        pt_file_free(&files->items[i]);
    files->count = kept;
    if (dropped)
        pt_message_to(files->messages,
                      "left out: %s%s, in a directory that all may write (--all reads all, --run ID one run)",
                      text.data, dropped == 1 ? "" : " …");
    pt_buffer_free(&text);
    return dropped;
}

/* Returns whether the file belongs to the run. A named file may hold segments of several runs (`merge`); of a file in a
 * directory only the first segment counts. */
static bool in_run(const struct pt_files *files, const struct pt_file *file, const char *run)
{
    bool found = pt_run_is(&files->joins, (struct pt_text){file->own_run, strlen(file->own_run)}, run);
    size_t size = 0, at = 0, budget;
    char *data = !found && file->named ? pt_read_file(file->path, SIZE_MAX - 1, &size) : NULL;
    budget = pt_read_budget(size);
    for (size_t end = 1; data && !found && at < size && end; at += end) {
        struct pt_segment segment;
        bool read = pt_segment_read(data + at, size - at, &budget, &segment, NULL) == PT_READ_OK;
        found = read && pt_run_is(&files->joins, segment.process.run, run);
        end = read ? segment.end : 0;
        pt_segment_free(&segment);
    }
    free(data);
    return found;
}

static void drop_unless_run(struct pt_files *files, const char *run, bool also_named)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        struct pt_file *file = &files->items[i];
        if (in_run(files, file, run) || (file->named && !also_named)) {
            files->items[kept++] = *file;
            continue;
        }
        pt_file_free(file);
    }
    files->count = kept;
}

static int by_run(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns how many runs there are in directories besides this one. */
static uint32_t count_other_runs(const struct pt_files *files, const char *run)
{
    char **ids = pt_alloc((size_t)files->count + 1, sizeof *ids);
    uint32_t count = 0, runs = 0;
    for (uint32_t i = 0; i < files->count; i++)
        if (!files->items[i].named && strcmp(files->items[i].run, run) != 0)
            ids[count++] = files->items[i].run;
    qsort(ids, count, sizeof *ids, by_run);
    for (uint32_t i = 0; i < count; i++)
        runs += !i || strcmp(ids[i - 1], ids[i]) != 0;
    free(ids);
    return runs;
}

bool pt_files_choose(struct pt_files *files, const struct pt_load_request *request)
{
    if (request->run) {
        drop_unless_run(files, request->run, true);
        if (!files->count)
            pt_message_to(files->messages, "no run '%s' here: 'pyprof runs' lists what there is", request->run);
        return files->count > 0;
    }
    const struct pt_file *latest = NULL;
    for (uint32_t i = 0; i < files->count; i++)
        if (!files->items[i].named && (!latest || files->items[i].start_unix_ns > latest->start_unix_ns))
            latest = &files->items[i];
    if (!latest || request->all)
        return true;
    char *run = pt_strdup(latest->run);
    uint32_t owner = latest->owner, others = count_other_runs(files, run);
    struct pt_buffer text = {0};
    pt_buffer_format(&text, "showing the latest run, %.8s", run);
    if (owner != geteuid()) {
        pt_buffer_text(&text, ", of ");
        append_user(&text, owner);
    }
    drop_unless_run(files, run, false);
    if (others)
        pt_buffer_format(&text, "; %u other run%s left out (--all merges them, --run ID chooses one)", others,
                         pt_plural(others, "s"));
    if (others || owner != geteuid())
        pt_message_to(files->messages, "%s", text.data);
    pt_buffer_free(&text);
    free(run);
    return true;
}
