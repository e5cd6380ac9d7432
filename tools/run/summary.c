/* SPDX-License-Identifier: Apache-2.0 */
#include "summary.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../preload/common/settings.h"
#include "../base/gzip.h"
#include "../base/output.h"
#include "../base/print.h"
#include "../base/proto.h"
#include "../load/control_file.h"
#include "../load/files.h"
#include "../load/load.h"
#include "../load/runs.h"
#include "../model/frame_text.h"
#include "../view/summary.h"
#include "../view/uncertainty.h"

/* Returns the sequence number of the block that would follow; 0: none is to follow. */
static uint32_t next_block(const struct pt_file *file, size_t *size)
{
    PT_AUTO(pt_segment_free) struct pt_segment segment = {0};
    PT_AUTO_FREE char *data = pt_read_file(file->path, SIZE_MAX - 1, size);
    bool over = data && pt_segment_read(data, *size, NULL, &segment, NULL) == PT_READ_OK && segment.end == *size &&
                (segment.end_reason == PP_END_EXIT || file->alive == PT_ALIVE_NO) && !segment.losses.truncated_bytes;
    uint32_t next = over ? segment.next : 0;
    return next;
}

bool pt_bill_append(const struct pt_file *file, uint64_t billed_ns)
{
    size_t size;
    uint32_t sequence = next_block(file, &size);
    int log = sequence ? open(file->path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (log < 0)
        return false;
    PT_AUTO_BUFFER block = {0};
    struct pt_buffer number = {0}, fields = {0};
    pt_append_varint(&number, billed_ns);
    pt_append_varint(&fields, PP_PROCESS_RUN_BILLED_NS);
    pt_append_varint(&fields, number.length);
    pt_buffer_append(&fields, number.data, number.length);
    struct pp_log_block_header header = {PP_BLOCK_PROCESS, (uint32_t)fields.length, 0, sequence};
    const uint32_t covered[] = {header.type, header.length, header.sequence};
    header.crc32 = pt_crc32(pt_crc32(0, covered, sizeof covered), fields.data, fields.length);
    pt_buffer_append(&block, &header, sizeof header);
    pt_buffer_append(&block, fields.data, fields.length);
    pt_buffer_free(&number);
    pt_buffer_free(&fields);
    ssize_t written = write(log, block.data, block.length);
    bool whole = written == (ssize_t)block.length;
    if (!whole && written > 0) /* a full disk; readers leave out half a block that stays */
        (void)!ftruncate(log, (off_t)size);
    close(log);
    return whole;
}

/* From here on it is said that the kernel has billed more than is recorded. */
#define MORE_NS    UINT64_C(10000000)
#define MORE_SHARE 200
#define OF_SIGNAL  128 /* a shell's status of a child that a signal ended is so much more */
#define TIMED_OUT  124 /* timeout's status */
#define POLLS      30  /* for helpers of a library that end just after the command */
#define POLL_NS    UINT64_C(10000000)
#define EARLY      4 /* times what the first write takes: Python may have been started a little later */

/* Files that were written since the run began. */
struct recent {
    struct pt_files files;
    time_t since;
};

static void add_log(void *data, const char *path)
{
    struct recent *recent = data;
    struct stat status;
    if (stat(path, &status) == 0 && status.st_mtime >= recent->since)
        pt_files_add(&recent->files, path, false);
}

/* Returns the paths of the files of runs whose id begins so, in the directory and in fallback directories, after the
 * bill has been added to one of them. Sets *elsewhere to the fallback directory if all are there, else NULL. The caller
 * frees both. */
static char **paths_of(const char *run, time_t since, uint64_t billed_ns, const char *directory, uint32_t *count,
                       char **elsewhere)
{
    struct recent recent = {.since = since};
    pt_each_log(directory, add_log, &recent);
    pt_files_add_fallbacks(&recent.files, run, (uint64_t)since * 1000000000u);
    pt_files_join_runs(&recent.files);
    bool here = false, noted = !billed_ns;
    char **paths = pt_alloc((size_t)recent.files.count + 1, sizeof *paths);
    *count = 0;
    for (uint32_t i = 0; i < recent.files.count; i++)
        if (strncmp(recent.files.items[i].run, run, strlen(run)) == 0) {
            paths[(*count)++] = pt_strdup(recent.files.items[i].path);
            noted = noted || pt_bill_append(&recent.files.items[i], billed_ns);
            here |= !recent.files.items[i].fallback;
        }
    *elsewhere = *count && !here ? pt_strdup(paths[0]) : NULL;
    if (*elsewhere)
        *strrchr(*elsewhere, '/') = 0;
    pt_files_free(&recent.files);
    return paths;
}

static void free_paths(char **paths, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

void pt_run_add_bill(const char *run, time_t since, uint64_t billed_ns, const char *directory)
{
    uint32_t count;
    char *elsewhere, **paths = paths_of(run, since, billed_ns, directory, &count, &elsewhere);
    free_paths(paths, count);
    free(elsewhere);
}

static struct pt_profile *load_run(const char *run, time_t since, const char *directory, char **elsewhere)
{
    uint32_t count;
    char **paths = paths_of(run, since, 0, directory, &count, elsewhere);
    const struct pt_load_request request = {
        .paths = paths, .path_count = (int)count, .keep = PT_KEEP_SUMS, .messages = &pt_messages_to_stderr};
    struct pt_profile *profile = count ? pt_load(&request) : NULL;
    free_paths(paths, count);
    return profile;
}

/* Waits for processes that end just after the command, as multiprocessing's resource tracker and fork server do when
 * they see that it is gone. Returns whether one has ended. */
static bool wait_for_helpers(const struct pt_profile *profile)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    uint32_t running = pt_open_ends_of(profile).running, left = running;
    for (int i = 0; left && i < POLLS; i++) {
        nanosleep(&pause, NULL);
        left = 0;
        for (uint32_t j = 0; j < profile->processes.count; j++)
            left += pt_end_of(profile, j) == PT_END_RUNNING && pt_runs(profile->processes.items[j].pid);
    }
    return left < running;
}

static void append_report(struct pt_buffer *text, const char *place)
{
    pt_buffer_text(text, "pyprof report");
    if (place) {
        pt_buffer_text(text, " ");
        pt_append_argument(text, place);
    }
}

/* next: what to type next is said, as no report follows. */
static void say_sums(const struct pt_profile *profile, uint64_t billed_ns, const char *place, uint32_t hz, bool next)
{
    struct pt_accounting sum = pt_summary_accounting(profile, PT_NONE);
    struct pt_open_ends open = pt_open_ends_of(profile);
    PT_AUTO_BUFFER text = {0}, ends = {0};
    struct pt_several runs = pt_cpu_of_runs(profile);
    uint32_t processes = profile->processes.count;
    if (runs.count > 1)
        pt_buffer_format(&text, "%" PRIu32 " runs of %.2f to %.2f s CPU, ", runs.count, runs.least, runs.most);
    pt_buffer_format(&text, "%" PRIu64 " sample%s, %.2f s CPU", sum.samples, pt_plural(sum.samples, "s"),
                     (double)sum.cpu_ns / 1e9);
    /* Programs without Python, starts and ends of processes are in no profile; what was not waited for is in no bill.
     */
    uint64_t more_ns = billed_ns > sum.cpu_ns ? billed_ns - sum.cpu_ns : 0;
    if (more_ns >= MORE_NS && more_ns >= billed_ns / MORE_SHARE)
        pt_buffer_format(&text, " (of at least %.2f s that the kernel billed)", (double)billed_ns / 1e9);
    if (sum.wall_ns)
        pt_buffer_format(&text, " in %.2f s", pt_seconds(sum.wall_ns));
    pt_buffer_format(&text, ", %" PRIu32 " process%s", processes, pt_plural(processes, "es"));
    pt_open_ends_append(&ends, &open);
    if (ends.length)
        pt_buffer_format(&text, " (%s)", ends.data);
    /* Says if fewer samples were taken than were asked for. */
    uint64_t longest = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (profile->processes.items[i].period_ns > longest)
            longest = profile->processes.items[i].period_ns;
    if (hz && longest > PT_SECOND / hz)
        pt_buffer_format(&text,
                         "; the rate was lowered from %" PRIu32 " to %" PRIu64
                         " samples per CPU second to keep below PYPROF_MAX_OVERHEAD",
                         hz, PT_SECOND / longest);
    if (next) {
        pt_buffer_text(&text, "; next: ");
        append_report(&text, place);
    }
    pt_message("%s", text.data);
}

/* Returns whether a signal has ended the command, or by its status what it waited for: a shell's child, or timeout's.
 */
static bool was_killed(int wait_status, const char *command)
{
    int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
    return WIFSIGNALED(wait_status) || status == OF_SIGNAL + SIGKILL || status == OF_SIGNAL + SIGTERM ||
           (status == TIMED_OUT && strcmp(pt_base_name(command), "timeout") == 0);
}

/* Says why there may be no profile: CPU time of what was killed may be in no bill. */
static void append_reasons(struct pt_buffer *text, const struct pt_ended *ended, const char *directory,
                           const char *command)
{
    bool killed = was_killed(ended->wait_status, command), late = geteuid() == 0 && access(directory, F_OK) != 0;
    uint64_t hz;
    pp_setting_read(PP_SETTING_HZ, getenv(pp_setting_names[PP_SETTING_HZ]), &hz);
    if (killed && ended->ran_ns < EARLY * (late ? PT_SECOND : PT_SECOND / 8)) {
        pt_buffer_format(text, "the command was killed %.2f s after its start, before its profile was first written",
                         pt_seconds(ended->ran_ns));
        if (!late) {
            pt_buffer_text(text, ", an eighth of a second after Python's start");
            return;
        }
        pt_buffer_text(text,
                       ". Root's is written after a second, or after an eighth of one where the directory exists; "
                       "before the next try: mkdir -p ");
        pt_append_argument(text, directory);
        return;
    }
    if (killed || ended->billed_ns >= 2 * PT_SECOND / hz)
        pt_buffer_text(text,
                       "what used CPU time in it is no Python, or LD_PRELOAD was removed on the way, as 'env -i' and "
                       "sudo do: put 'pyprof run --' after these");
    else
        pt_buffer_format(text, "no Python in it used the CPU time of a sample, %g ms", 1e3 / (double)hz);
    pt_buffer_format(text, "; 'pyprof doctor -- %s' checks for other reasons", command);
}

static void say_nothing(const struct pt_ended *ended, const char *directory, const char *place, const char *reason,
                        const char *command)
{
    PT_AUTO_BUFFER text = {0}, pause = {0};
    const char *start = getenv(pp_setting_names[PP_SETTING_START]);
    if (!reason && pt_append_pause(&pause, directory))
        reason = pause.data;
    if (!reason && start && strcmp(start, "paused") == 0)
        reason = "PYPROF_START=paused, and no 'pyprof ctl resume' came";
    pt_buffer_format(&text, "nothing was profiled: %s", reason ? reason : "");
    if (!reason)
        append_reasons(&text, ended, directory, command);
    if (pt_each_log(directory, NULL, NULL) > 0) {
        pt_buffer_text(&text, "; an earlier run is shown by: ");
        append_report(&text, place);
    }
    pt_error("%s", text.data);
}

char *pt_run_summary(const char *run, time_t since, const struct pt_ended *ended, const char *directory,
                     const char *named, uint32_t hz, const char *reason, const char *command)
{
    char *elsewhere;
    struct pt_profile *profile = load_run(run, since, directory, &elsewhere);
    if (profile && wait_for_helpers(profile)) {
        pt_profile_free(profile);
        free(elsewhere);
        profile = load_run(run, since, directory, &elsewhere);
    }
    const char *place = elsewhere ? elsewhere : named;
    char *found = profile ? pt_strdup(place ? place : "") : NULL;
    if (profile)
        say_sums(profile, ended->billed_ns, place, hz, !isatty(STDERR_FILENO));
    else
        say_nothing(ended, directory, named, reason, command);
    pt_profile_free(profile);
    free(elsewhere);
    return found;
}
