/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what the process has written, or the latest run in the default directory. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/memory.h"
#include "../base/numbers.h"
#include "../load/files.h"
#include "../load/load.h"
#include "../load/runs.h"
#include "../model/model.h"
#include "../view/summary.h"
#include "../view/trace_sources.h"
#include "checks.h"

#define TOPIC        "profile"
#define CLOCKS_APART (2 * (uint64_t)PT_SECOND) /* a log is not older than its process, give or take this */
#define LATE_NS      (5 * (uint64_t)PT_SECOND) /* flushes come once a second */
#define WORTH_NS     (PT_SECOND / 2)           /* CPU used without a sample: not by chance */
#define OWN_SHARE    100                       /* of the wall time, that the library's own thread may take */

/* Adds the warnings of the library about one process. */
static void add_notices(const struct pt_profile *profile, const struct pt_process *process,
                        struct pt_findings *findings)
{
    for (uint32_t i = 0; i < process->notices.count; i++)
        if (process->notices.items[i].severity)
            pt_find(findings, PT_LEVEL_WARN, TOPIC, "process %" PRIu64 " says: %s", process->pid,
                    pt_string(profile, process->notices.items[i].text));
}

static void check_run(const struct pt_profile *profile, const struct pt_run *run, struct pt_findings *findings)
{
    uint64_t samples = 0, paused_ns = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_accounting *sum = &profile->processes.items[i].accounting;
        if (profile->processes.items[i].run == run->run) {
            samples += sum->samples;
            paused_ns += pt_summary_is_all_paused(sum) ? sum->sampled_ns : 0;
        }
    }
    bool empty = !samples && run->cpu_ns > paused_ns + WORTH_NS;
    pt_find(findings, empty ? PT_LEVEL_FAIL : PT_LEVEL_OK, TOPIC,
            "the latest run, %.8s: %" PRIu32 " process%s, %.3f s CPU, %" PRIu64 " sample%s%s (%s)",
            pt_string(profile, run->run), run->processes, pt_plural(run->processes, "es"), (double)run->cpu_ns / 1e9,
            samples, pt_plural(samples, "s"), !samples && paused_ns ? ", for it was paused" : "",
            pt_string(profile, profile->processes.items[run->first].command_line));
    if (empty)
        pt_remedy(findings, "while it runs, 'pyprof doctor PID' says why");
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (profile->processes.items[i].run == run->run)
            add_notices(profile, &profile->processes.items[i], findings);
    PT_AUTO_BUFFER no_traces = {0};
    pt_trace_sources_append(&no_traces, profile, PT_NONE, run->run);
    if (no_traces.length)
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "%s", no_traces.data);
}

void pt_check_latest(const struct pt_cli *cli, struct pt_findings *findings)
{
    PT_AUTO_FREE char *directory = pt_default_directory(), *fallback = pt_fallback_directory();
    bool any = pt_each_log(directory, NULL, NULL) > 0;
    PT_AUTO_FREE char *elsewhere = any ? NULL : pt_fallback_latest(fallback);
    struct pt_load_request request = cli->request;
    request.keep = PT_KEEP_SUMS;
    struct pt_profile *profile = any ? pt_load(&request) : NULL;
    if (elsewhere) {
        pt_find(findings, PT_LEVEL_OK, TOPIC, "none in %s; the latest in %s is of %s", directory, fallback, elsewhere);
        pt_remedy(findings, "pyprof report %s", fallback);
    } else if (!any) {
        pt_find(findings, PT_LEVEL_OK, TOPIC, "none yet in %s", directory);
        pt_remedy(findings, "pyprof run -- python app.py");
    } else if (!profile) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "what is in %s cannot be read", directory);
        pt_remedy(findings, "files are private: ask as the user that wrote them, or as root");
    } else {
        uint32_t count;
        PT_AUTO_FREE struct pt_run *runs = pt_runs_of(profile, &count);
        if (count)
            check_run(profile, &runs[0], findings);
    }
    pt_profile_free(profile);
}

struct search {
    const struct pt_process_info *subject;
    char prefix[32];
    char *latest; /* names begin with the pid and the time */
    uint64_t oldest_ns;
};

static void check_file(void *data, const char *path)
{
    struct search *search = data;
    const char *name = strrchr(path, '/') + 1;
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    if (strncmp(name, search->prefix, strlen(search->prefix)) != 0 ||
        strtoull(name + strlen(search->prefix), NULL, 10) < search->oldest_ns)
        return;
    if (search->latest && strcmp(strrchr(search->latest, '/') + 1, name) > 0)
        return;
    free(search->latest);
    search->latest = pt_strdup(path);
}

/* Returns the newest file of the process, NULL if there is none. The caller frees. */
static char *find_log(const struct pt_process_info *subject)
{
    struct search search = {.subject = subject};
    snprintf(search.prefix, sizeof search.prefix, "%d-", subject->pid_inside);
    if (subject->age_ns)
        search.oldest_ns = pt_clock_ns(CLOCK_REALTIME) - subject->age_ns - CLOCKS_APART;
    char *directories[] = {pt_output_directory(subject), pt_output_fallback(subject)};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        PT_AUTO_FREE char *path = pt_process_info_path(subject, directories[i]);
        pt_each_log(path, check_file, &search);
        free(directories[i]);
    }
    return search.latest;
}

static void say_none(const struct pt_process_info *subject, struct pt_findings *findings)
{
    if (pt_is_paused(subject)) {
        pt_find(findings, PT_LEVEL_OK, TOPIC, "none yet: a paused process writes each ten seconds");
        return;
    }
    if (subject->cpu_ns < WORTH_NS) {
        pt_find(findings, PT_LEVEL_OK, TOPIC,
                "none yet: a file appears with the first sample, and the process has used %.3f s CPU",
                (double)subject->cpu_ns / PT_SECOND);
        return;
    }
    pt_find(findings, PT_LEVEL_WARN, TOPIC, "no file of process %d, which has used %.3f s CPU", subject->pid_inside,
            (double)subject->cpu_ns / PT_SECOND);
    pt_remedy(findings, subject->environment && pt_process_info_variable(subject, "PYPROF_OUT") &&
                                *pt_process_info_variable(subject, "PYPROF_OUT") == '/'
                            ? "if a part above fails, that is why; else ask again in a second"
                            : "has the program changed its directory? 'pyprof runs DIR' lists another one; an "
                              "absolute PYPROF_OUT is always found");
}

static void check_progress(const struct pt_process_info *subject, const struct pt_process *process, const char *path,
                           struct pt_findings *findings)
{
    const struct pt_accounting *sum = &process->accounting;
    uint64_t now = pt_clock_ns(CLOCK_REALTIME), age = now > sum->end_unix_ns ? now - sum->end_unix_ns : 0;
    uint64_t known = sum->before_start_ns + sum->cpu_ns;
    uint64_t used = subject->cpu_ns > known ? subject->cpu_ns - known : 0;
    double seconds = (double)age / PT_SECOND;
    if (pt_is_paused(subject)) {
        pt_find(findings, PT_LEVEL_OK, TOPIC, "%s: %" PRIu64 " sample%s, %.3f s CPU, and paused", path, sum->samples,
                pt_plural(sum->samples, "s"), (double)sum->cpu_ns / PT_SECOND);
    } else if (age > LATE_NS && used > WORTH_NS + age / OWN_SHARE) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "%s: nothing written for %.0f s, in which %.3f s CPU were used", path,
                seconds, (double)used / PT_SECOND);
        pt_remedy(findings, "is the process stopped or its disk full? if not, this is a bug of pyprof: report it");
    } else if (!sum->samples && sum->cpu_ns > WORTH_NS) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "%s: %.3f s CPU, but no sample", path, (double)sum->cpu_ns / PT_SECOND);
        pt_remedy(findings, "see timers and signal above");
    } else if (age > LATE_NS) {
        pt_find(findings, PT_LEVEL_OK, TOPIC,
                "%s: %" PRIu64 " sample%s, %.3f s CPU; idle for %.0f s: without CPU time there is nothing to sample",
                path, sum->samples, pt_plural(sum->samples, "s"), (double)sum->cpu_ns / PT_SECOND, seconds);
    } else {
        pt_find(findings, PT_LEVEL_OK, TOPIC, "%s: %" PRIu64 " sample%s, %.3f s CPU, and being written", path,
                sum->samples, pt_plural(sum->samples, "s"), (double)sum->cpu_ns / PT_SECOND);
    }
}

/* A library of a layout that is unknown is left out: that is worth knowing, and no reason to worry. */
static void find_context(void *data, bool read, const char *text)
{
    pt_find(data, read ? PT_LEVEL_OK : PT_LEVEL_WARN, "contexts",
            read ? "samples belong to %s" : "samples do not belong to %s", text);
}

/* The process itself has tried whether events are permitted to it. */
static void check_clock(const char *clock, struct pt_findings *findings)
{
    bool refused = strstr(clock, "no perf events");
    pt_find(findings, refused ? PT_LEVEL_WARN : PT_LEVEL_OK, "clock", "it is sampled by %s", clock);
    if (refused)
        pt_remedy(
            findings,
            "ticks do not see work that always falls between two of them; before the next start: " PT_REMEDY_OF_CLOCK);
}

static void check_process_of(const struct pt_process_info *subject, const struct pt_profile *profile, const char *path,
                             struct pt_findings *findings)
{
    const struct pt_process *process = &profile->processes.items[0];
    check_progress(subject, process, path, findings);
    for (uint32_t i = 0; i < process->notices.count; i++)
        if (process->notices.items[i].severity)
            pt_find(findings, PT_LEVEL_WARN, TOPIC, "it says: %s", pt_string(profile, process->notices.items[i].text));
    if (process->clock)
        check_clock(pt_string(profile, process->clock), findings);
    pt_summary_contexts(profile, 0, find_context, findings);
    struct pt_buffer no_traces = {0};
    pt_trace_sources_append(&no_traces, profile, 0, PT_NONE);
    if (no_traces.length)
        pt_find(findings, PT_LEVEL_WARN, "contexts", "%s", no_traces.data);
    pt_buffer_free(&no_traces);
    const char *version = pt_string(profile, process->library_version);
    if (*version && strcmp(version, PYPROF_VERSION) != 0) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "written by libpyprof %s, this is pyprof " PYPROF_VERSION, version);
        pt_remedy(findings, "read it with the pyprof that came with the library if something looks wrong");
    }
}

void pt_check_log(const struct pt_process_info *subject, struct pt_findings *findings)
{
    if (!subject->environment)
        return;
    PT_AUTO_FREE char *path = find_log(subject);
    if (!path) {
        say_none(subject, findings);
        return;
    }
    size_t size;
    PT_AUTO_FREE char *data = pt_read_file(path, SIZE_MAX - 1, &size);
    int error = errno;
    struct pt_profile *profile = pt_profile_new(&(struct pt_load_request){.keep = PT_KEEP_SUMS});
    if (!data) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "%s: %s", pt_process_info_inside(subject, path), strerror(error));
        pt_remedy(findings, "files are private: read them as user %u or as root", (unsigned)subject->uid);
    } else if (pt_profile_add_segment(profile, data, size, path) != PT_READ_OK || !profile->processes.count) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "%s cannot be read yet", pt_process_info_inside(subject, path));
        pt_remedy(findings, "ask again in a second");
    } else {
        pt_profile_close_sums(profile);
        check_process_of(subject, profile, pt_process_info_inside(subject, path), findings);
    }
    pt_profile_free(profile);
}
