/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the latest run in the default directory. */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/print.h"
#include "../load/files.h"
#include "../load/load.h"
#include "../load/runs.h"
#include "../view/trace_sources.h"
#include "checks.h"

#define TOPIC    "profile"
#define WORTH_NS 500000000u /* CPU used without a sample: not by chance */

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
    uint64_t samples = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (profile->processes.items[i].run == run->run)
            samples += profile->processes.items[i].accounting.samples;
    bool empty = !samples && run->cpu_ns > WORTH_NS;
    pt_find(findings, empty ? PT_LEVEL_FAIL : PT_LEVEL_OK, TOPIC,
            "the latest run, %.8s: %" PRIu32 " process%s, %.3f s CPU, %" PRIu64 " sample%s (%s)",
            pt_string(profile, run->run), run->processes, pt_plural(run->processes, "es"), (double)run->cpu_ns / 1e9,
            samples, pt_plural(samples, "s"), pt_string(profile, profile->processes.items[run->first].command_line));
    if (empty)
        pt_remedy(findings, "while it runs, 'pyprof doctor PID' says why");
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (profile->processes.items[i].run == run->run)
            add_notices(profile, &profile->processes.items[i], findings);
    struct pt_buffer no_traces = {0};
    pt_trace_sources_append(&no_traces, profile, PT_NONE, run->run);
    if (no_traces.length)
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "%s", no_traces.data);
    pt_buffer_free(&no_traces);
}

void pt_check_latest(const struct pt_cli *cli, struct pt_findings *findings)
{
    char *directory = pt_default_directory(), *fallback = pt_fallback_directory();
    bool any = pt_each_log(directory, NULL, NULL) > 0;
    char *elsewhere = any ? NULL : pt_fallback_latest(fallback);
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
        struct pt_run *runs = pt_runs_of(profile, &count);
        if (count)
            check_run(profile, &runs[0], findings);
        free(runs);
    }
    pt_profile_free(profile);
    free(directory);
    free(fallback);
    free(elsewhere);
}
