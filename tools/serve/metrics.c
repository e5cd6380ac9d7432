/* SPDX-License-Identifier: Apache-2.0 */
/* The counters as Prometheus reads them. */
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include "counters.h"

#define COMMAND_BYTES 120 /* of a command line, in a label */

/* Appends a label: its text with what the format needs to be escaped; other control characters, which a terminal would
 * obey, as blanks. */
static void put_label(struct pt_buffer *text, const char *comma, const char *name, const char *value, size_t most)
{
    size_t length = strlen(value);
    pt_buffer_format(text, "%s%s=\"", comma, name);
    if (length > most) /* the text is UTF-8: no character is cut */
        for (length = most; length && ((unsigned char)value[length] & 0xc0) == 0x80;)
            length--;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        if (c == '\n')
            pt_buffer_text(text, "\\n");
        else
            pt_buffer_format(text, c == '"' || c == '\\' ? "\\%c" : "%c", c < ' ' || c == 0x7f ? ' ' : c);
    }
    pt_buffer_text(text, "\"");
}

static void head(struct pt_buffer *text, const char *name, const char *type, const char *help)
{
    pt_buffer_format(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_seconds(struct pt_buffer *text, uint64_t ns)
{
    pt_buffer_format(text, " %" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000u, ns % 1000000000u);
}

static void put_time(struct pt_buffer *text, const char *name, uint64_t ns, const char *help)
{
    head(text, name, "counter", help);
    pt_buffer_text(text, name);
    put_seconds(text, ns);
}

static void put_number(struct pt_buffer *text, const char *name, const char *type, uint64_t value, const char *help)
{
    head(text, name, type, help);
    pt_buffer_format(text, "%s %" PRIu64 "\n", name, value);
}

static void put_processes(const struct pt_counters *counters, struct pt_buffer *text)
{
    static const char by_process[] = "pyprof_process_cpu_seconds_total", states[] = "pyprof_processes";
    const struct pt_profile *profile = counters->follow->profile;
    uint64_t running[2] = {0}, listed = 0;
    struct utsname here = {0};
    uname(&here);
    head(text, by_process, "counter",
         "CPU time of each process that runs, since its start; of 100 processes at most, the oldest first.");
    for (uint32_t i = 0; i < profile->processes.count && i < counters->processes.count; i++) {
        const struct pt_process *process = &profile->processes.items[i];
        if (!pt_follow_is_alive(counters->follow, i, counters->now_unix_ns))
            continue;
        running[process->paused != 0]++;
        if (++listed > PT_MOST_PROCESSES)
            continue;
        pt_buffer_format(text, "%s{pid=\"%" PRIu64 "\"", by_process, process->pid);
        const char *host = pt_string(profile, process->host);
        if (strcmp(host, here.nodename) != 0) /* of a container: it may have a pid that another one has, too */
            put_label(text, ",", "host", host, COMMAND_BYTES);
        if (process->service)
            put_label(text, ",", "service", pt_string(profile, process->service), COMMAND_BYTES);
        put_label(text, ",", "command", pt_string(profile, process->command_line), COMMAND_BYTES);
        pt_buffer_text(text, "}");
        put_seconds(text, counters->processes.items[i].last.cpu_ns);
    }
    head(text, states, "gauge", "Processes that run and are profiled; paused ones take no samples (pyprof ctl).");
    pt_buffer_format(text, "%s{state=\"running\"} %" PRIu64 "\n%s{state=\"paused\"} %" PRIu64 "\n", states, running[0],
                     states, running[1]);
}

static void put_endpoints(const struct pt_counters *counters, struct pt_buffer *text)
{
    static const struct {
        const char *name, *help;
        bool requests;
    } kinds[] = {
        {"pyprof_endpoint_cpu_seconds_total",
         "CPU time by endpoint, since serve began; (none): outside of requests, or while paused; of more than 100 the "
         "rest is (others).",
         false},
        {"pyprof_endpoint_requests_total", "Requests that the program has counted (libpyprof.wsgi, asgi), by endpoint.",
         true},
    };
    for (unsigned k = 0; k < 2; k++) {
        head(text, kinds[k].name, "counter", kinds[k].help);
        for (PT_EACH(const struct pt_counted_endpoint, at, &counters->endpoints)) {
            if (kinds[k].requests && !at->requests)
                continue;
            pt_buffer_text(text, kinds[k].name);
            put_label(text, "{", "endpoint", at->endpoint, SIZE_MAX);
            if (*at->service)
                put_label(text, ",", "service", at->service, COMMAND_BYTES);
            pt_buffer_text(text, "}");
            if (kinds[k].requests)
                pt_buffer_format(text, " %" PRIu64 "\n", at->requests);
            else
                put_seconds(text, at->cpu_ns);
        }
    }
}

static const struct {
    const char *name, *type, *help;
} push_metrics[] = {
    {"pyprof_push_cpu_seconds_total", "counter", "CPU time that servers have taken from pyprof push, by its --to URL."},
    {"pyprof_push_lost_cpu_seconds_total", "counter", "CPU time that they refused, or that was too old for them."},
    {"pyprof_push_removed_bytes_total", "counter", "Logs that were removed before they were sent (PYPROF_MAX_DISK)."},
    {"pyprof_push_last_success_timestamp_seconds", "gauge", "When a server last took something; 0: never."},
};
#define PUSH_METRICS  (sizeof push_metrics / sizeof push_metrics[0])
#define REMOVED_BYTES 2

/* What was sent of one run is no series: its last success would stay as old as it is. */
static void put_push(void *texts, struct pt_push_state *state, const char *path)
{
    (void)path;
    if (!state || state->run)
        return;
    const uint64_t values[PUSH_METRICS] = {state->sent.cpu_ns, state->refused.cpu_ns + state->expired.cpu_ns,
                                           state->removed_bytes, state->success_unix_ns};
    for (size_t i = 0; i < PUSH_METRICS; i++) {
        struct pt_buffer *text = (struct pt_buffer *)texts + i;
        pt_buffer_text(text, push_metrics[i].name);
        put_label(text, "{", "target", state->target, SIZE_MAX);
        pt_buffer_text(text, "}");
        if (i == REMOVED_BYTES)
            pt_buffer_format(text, " %" PRIu64 "\n", values[i]);
        else
            put_seconds(text, values[i]);
    }
}

/* URLs have no name and no password: push refuses these. */
static void put_pushes(const struct pt_counters *counters, struct pt_buffer *text)
{
    struct pt_buffer texts[PUSH_METRICS] = {0};
    pt_push_each_state(counters->directory, put_push, texts);
    for (size_t i = 0; i < PUSH_METRICS; i++) {
        head(text, push_metrics[i].name, push_metrics[i].type, push_metrics[i].help);
        pt_buffer_append(text, texts[i].data, texts[i].length);
        pt_buffer_free(&texts[i]);
    }
}

void pt_counters_metrics(const struct pt_counters *counters, struct pt_buffer *text)
{
    const struct pt_counted *sum = &counters->sum;
    head(text, "pyprof_build_info", "gauge", "The version of pyprof.");
    pt_buffer_text(text, "pyprof_build_info{version=\"" PYPROF_VERSION "\"} 1\n");
    put_time(text, "pyprof_cpu_seconds_total", sum->cpu_ns,
             "CPU time of all processes that are profiled, since serve began.");
    put_time(text, "pyprof_own_cpu_seconds_total", sum->own_ns, "CPU time of the profiler in them.");
    put_time(text, "pyprof_unsampled_cpu_seconds_total", sum->unsampled_ns,
             "CPU time after the last samples of threads, once it is final; what live ones have used since theirs is "
             "not in it (pyprof info adds it).");
    put_time(text, "pyprof_lost_cpu_seconds_total", sum->lost_ns, "CPU time of samples that were lost.");
    put_number(text, "pyprof_samples_total", "counter", sum->samples, "Samples taken.");
    put_number(text, "pyprof_lost_samples_total", "counter", sum->lost_samples, "Samples lost: no room, no time.");
    put_processes(counters, text);
    put_endpoints(counters, text);
    put_pushes(counters, text);
    put_number(text, "pyprof_disk_bytes", "gauge", counters->disk_bytes,
               "Disk that the profiles of the directory take.");
    put_number(text, "pyprof_disk_files", "gauge", counters->disk_files, "Profiles in the directory.");
    put_number(text, "pyprof_unreadable_files", "gauge", counters->follow->unopened,
               "Profiles that cannot be opened, as those of another user.");
}
