/* SPDX-License-Identifier: Apache-2.0 */
/* The counters as our page reads them. */
#include <stdio.h>
#include <stdlib.h>

#include "../base/json.h"
#include "../base/output.h"
#include "counters.h"

/* What a process used in its last seconds is 0 when it has written nothing for so long. */
#define SILENT_NS UINT64_C(15000000000)

static void put_processes(struct pt_json *json, const struct pt_counters *counters)
{
    const struct pt_profile *profile = counters->follow->profile;
    uint64_t running = 0;
    pt_json_begin(json, "processes", '[');
    for (uint32_t i = 0; i < profile->processes.count && i < counters->processes.count; i++) {
        const struct pt_process *process = &profile->processes.items[i];
        if (!pt_follow_is_alive(counters->follow, i, counters->now_unix_ns) || ++running > PT_MOST_PROCESSES)
            continue;
        bool silent = process->end_unix_ns + SILENT_NS < counters->now_unix_ns;
        pt_json_begin(json, NULL, '{');
        pt_json_number(json, "pid", process->pid);
        pt_json_text(json, "run", pt_string(profile, process->run));
        pt_json_text(json, "service", process->service ? pt_string(profile, process->service) : NULL);
        pt_json_text(json, "cmdline", pt_string(profile, process->command_line));
        pt_json_number(json, "start_unix_ns", process->start_unix_ns);
        pt_json_bool(json, "paused", process->paused);
        pt_json_number(json, "cpu_ns", counters->processes.items[i].last.cpu_ns);
        pt_json_format(json, "cores", "%.3f", silent ? 0 : counters->processes.items[i].cores);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
    pt_json_number(json, "running", running);
}

static void put_endpoints(struct pt_json *json, const struct pt_counters *counters)
{
    pt_json_begin(json, "endpoints", '[');
    for (PT_EACH(const struct pt_counted_endpoint, at, &counters->endpoints)) {
        pt_json_begin(json, NULL, '{');
        pt_json_text(json, "endpoint", at->endpoint);
        pt_json_text(json, "service", *at->service ? at->service : NULL);
        pt_json_number(json, "cpu_ns", at->cpu_ns);
        pt_json_number(json, "samples", at->samples);
        pt_json_number(json, "requests", at->requests);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
}

void pt_counters_status(const struct pt_counters *counters, struct pt_buffer *text)
{
    FILE *out = pt_buffer_stream(text);
    struct pt_json json = pt_json_document(out);
    pt_json_text(&json, "directory", counters->directory);
    pt_json_number(&json, "now_unix_ns", counters->now_unix_ns);
    pt_json_number(&json, "began_unix_ns", counters->began_unix_ns);
    pt_json_number(&json, "cpu_ns", counters->sum.cpu_ns);
    pt_json_number(&json, "own_ns", counters->sum.own_ns);
    pt_json_number(&json, "samples", counters->sum.samples);
    pt_json_number(&json, "lost_samples", counters->sum.lost_samples);
    pt_json_number(&json, "disk_bytes", counters->disk_bytes);
    pt_json_number(&json, "files", counters->disk_files);
    put_processes(&json, counters);
    put_endpoints(&json, counters);
    pt_json_end_document(&json);
    fclose(out);
}
