/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the runs of a request among the files that were found. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/print.h"
#include "../model/frame_text.h"
#include "file_times.h"
#include "files.h"
#include "runs.h"

#define NAME           "pyprof-"
#define COMMAND_LENGTH 100 /* bytes shown of a command line */

struct search {
    struct pt_files *files;
    const char *run;  /* wanted, whether it has files in a directory or not; NULL: none */
    uint64_t from_ns; /* when the first of the runs started */
};

char *pt_fallback_directory(void)
{
    const char *temporary = getenv("TMPDIR");
    struct pt_buffer path =
        pt_formatted("%s/" NAME "%u", temporary && *temporary ? temporary : "/tmp", (unsigned)getuid());
    return path.data;
}

/* Returns whether the file belongs to a run of the directory and is not in the directory. */
static bool is_wanted(const struct pt_files *files, const char *run, const struct pt_file *found)
{
    bool wanted = run && strcmp(run, found->run) == 0;
    for (PT_EACH(const struct pt_file, file, files)) {
        if (strcmp(pt_base_name(file->path), pt_base_name(found->path)) == 0)
            return false;
        wanted |= !file->named && strcmp(file->run, found->run) == 0;
    }
    return wanted;
}

/* Names are PID-NANOSECONDS-…: older files are not opened. */
static void check_log(void *data, const char *path)
{
    struct search *search = data;
    struct pt_files *files = search->files, one = {0};
    const char *dash = strchr(pt_base_name(path), '-');
    if (!dash || strtoull(dash + 1, NULL, 10) < search->from_ns)
        return;
    pt_files_add(&one, path, false);
    if (one.count && is_wanted(files, search->run, one.items)) {
        struct pt_file *file = PT_APPEND(files);
        *file = *one.items;
        file->foreign = file->owner && file->owner != geteuid();
        file->fallback = true;
        one.count = 0;
    }
    pt_files_free(&one);
}

static int is_fallback(const struct dirent *entry)
{
    size_t length = strlen(NAME);
    const char *user = entry->d_name + length;
    return strncmp(entry->d_name, NAME, length) == 0 && *user && !user[strspn(user, "0123456789")];
}

static void search_below(struct search *search, const char *temporary)
{
    struct dirent **entries;
    int count = scandir(temporary, &entries, is_fallback, alphasort);
    for (int i = 0; i < count; i++) {
        struct stat status;
        PT_AUTO_BUFFER path = pt_formatted("%s/%s", temporary, entries[i]->d_name);
        if (pt_each_log(path.data, check_log, search) < 0 && errno == EACCES && !search->files->closed &&
            stat(path.data, &status) == 0 && (uint64_t)status.st_mtime >= search->from_ns / 1000000000u)
            search->files->closed = pt_strdup(path.data);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

static void append_age(struct pt_buffer *text, uint64_t start_unix_ns)
{
    static const struct {
        uint64_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    uint64_t now = (uint64_t)time(NULL), start = start_unix_ns / 1000000000u, age = now > start ? now - start : 0;
    unsigned unit = 0;
    while (unit < 3 && age < 2 * units[unit].seconds)
        unit++;
    age /= units[unit].seconds;
    pt_buffer_format(text, "%" PRIu64 " %s%s ago", age, units[unit].name, pt_plural(age, "s"));
}

static void keep_latest(void *data, const char *path)
{
    struct pt_files *latest = data, one = {0};
    pt_files_add(&one, path, false);
    bool later = one.count && (!latest->count || one.items->start_unix_ns > latest->items->start_unix_ns);
    struct pt_files earlier = later ? *latest : one;
    if (later)
        *latest = one;
    pt_files_free(&earlier);
}

char *pt_fallback_latest(const char *directory)
{
    PT_AUTO(pt_files_free) struct pt_files latest = {0};
    PT_AUTO(pt_segment_free) struct pt_segment segment = {0};
    struct pt_buffer text = {0};
    size_t size = 0;
    pt_each_log(directory, keep_latest, &latest);
    char *data = latest.count ? pt_read_file(latest.items->path, PT_PROCESS_BYTES, &size) : NULL;
    if (data && pt_segment_read_process(data, size, &segment) == PT_READ_OK) {
        struct pt_text command = segment.process.command_line;
        const char *end = memchr(command.data, 0, command.length), *slash = end ? strrchr(command.data, '/') : NULL;
        if (slash) { /* of the program only its name */
            command.length -= (size_t)(slash + 1 - command.data);
            command.data = slash + 1;
        }
        append_age(&text, segment.process.start_unix_ns);
        pt_buffer_text(&text, ": ");
        for (size_t i = 0; i + 1 < command.length && i < COMMAND_LENGTH; i++) {
            unsigned char c = (unsigned char)command.data[i];
            pt_buffer_format(&text, "%c", c < ' ' || c == 0x7f ? ' ' : c);
        }
        pt_buffer_text(&text, command.length > COMMAND_LENGTH ? " …" : "");
    }
    free(data);
    return text.data;
}

void pt_files_add_fallbacks(struct pt_files *files, const char *run, uint64_t since_ns)
{
    const char *temporary = getenv("TMPDIR");
    struct search search = {files, run, run ? since_ns : UINT64_MAX};
    for (uint32_t i = 0; i < files->count; i++)
        if (!files->items[i].named && files->items[i].start_unix_ns < search.from_ns)
            search.from_ns = files->items[i].start_unix_ns;
    if (search.from_ns == UINT64_MAX)
        return;
    search_below(&search, "/tmp");
    if (temporary && *temporary && strcmp(temporary, "/tmp") != 0)
        search_below(&search, temporary);
}

/* The file is read here: getpwuid has libc load libraries, which a static program cannot rely on. */
static void append_user(struct pt_buffer *text, uint32_t user)
{
    FILE *users = fopen("/etc/passwd", "re");
    const struct passwd *entry = NULL;
    pt_buffer_format(text, "user %" PRIu32, user);
    do
        entry = users ? fgetpwent(users) : NULL;
    while (entry && entry->pw_uid != user);
    if (entry)
        pt_buffer_format(text, " (%s)", entry->pw_name);
    if (users)
        fclose(users);
}

uint32_t pt_files_drop_foreign(struct pt_files *files)
{
    PT_AUTO_BUFFER text = {0};
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
    return dropped;
}

/* Returns whether the file belongs to the run. A named file may hold segments of several runs (`merge`); of a file in a
 * directory only the first segment counts. */
static bool in_run(const struct pt_files *files, const struct pt_file *file, const char *run)
{
    bool found = pt_run_is(&files->joins, (struct pt_text){file->own_run, strlen(file->own_run)}, run);
    size_t size = 0, at = 0, budget;
    PT_AUTO_FREE char *data = !found && file->named ? pt_read_file(file->path, SIZE_MAX - 1, &size) : NULL;
    budget = pt_read_budget(size);
    for (size_t end = 1; data && !found && at < size && end; at += end) {
        struct pt_segment segment;
        bool read = pt_segment_read(data + at, size - at, &budget, &segment, NULL) == PT_READ_OK;
        found = read && pt_run_is(&files->joins, segment.process.run, run);
        end = read ? segment.end : 0;
        pt_segment_free(&segment);
    }
    return found;
}

static void drop_unless_run(struct pt_files *files, const char *run, bool also_named)
{
    uint32_t kept = 0;
    for (PT_EACH(struct pt_file, file, files)) {
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

void pt_files_append_others(struct pt_buffer *text, const struct pt_files *files, const char *run)
{
    char **ids = pt_alloc((size_t)files->count + 1, sizeof *ids);
    uint32_t count = 0, runs = 0;
    for (uint32_t i = 0; i < files->count; i++)
        if (!files->items[i].named && !files->items[i].foreign && !pt_are_repeats(files->items[i].run, run))
            ids[count++] = files->items[i].run;
    qsort(ids, count, sizeof *ids, by_run);
    for (uint32_t i = 0; i < count; i++)
        runs += !i || !pt_are_repeats(ids[i - 1], ids[i]);
    free(ids);
    if (runs)
        pt_buffer_format(text, "%" PRIu32 " other run%s left out (--all merges them, --run ID chooses one)", runs,
                         pt_plural(runs, "s"));
}

/* Returns the file of a directory whose process began last, of those that may have something of this time. */
static const struct pt_file *latest_of(const struct pt_files *files, uint64_t from, uint64_t to)
{
    const struct pt_file *latest = NULL;
    for (PT_EACH(const struct pt_file, file, files))
        if (!file->named && pt_file_may_have(file, from, to) &&
            (!latest || file->start_unix_ns > latest->start_unix_ns))
            latest = file;
    return latest;
}

bool pt_files_choose(struct pt_files *files, const struct pt_load_request *request)
{
    if (request->run) {
        drop_unless_run(files, request->run, true);
        if (!files->count)
            pt_message_to(files->messages, "no run '%s' here: 'pyprof runs' lists what there is", request->run);
        return files->count > 0;
    }
    const struct pt_selection *select = &request->select;
    uint64_t from = select->from.unix_ns, to = select->to.unix_ns ? select->to.unix_ns : UINT64_MAX;
    const struct pt_file *latest = latest_of(files, from, to) ?: latest_of(files, 0, UINT64_MAX);
    if (!latest || request->all)
        return true;
    PT_AUTO_FREE char *run = pt_strndup(latest->run, strnlen(latest->run, PT_REPEATED_LENGTH));
    uint32_t owner = latest->owner;
    PT_AUTO_BUFFER text = {0}, others = {0};
    pt_files_append_others(&others, files, run);
    bool last = latest == latest_of(files, 0, UINT64_MAX);
    pt_buffer_format(&text, "showing the latest run%s, %.8s", last ? "" : " of that time", run);
    if (owner != geteuid()) {
        pt_buffer_text(&text, ", of ");
        append_user(&text, owner);
    }
    drop_unless_run(files, run, false);
    if (others.length)
        pt_buffer_format(&text, "; %s", others.data);
    if (others.length || owner != geteuid())
        pt_message_to(files->messages, "%s", text.data);
    return true;
}
