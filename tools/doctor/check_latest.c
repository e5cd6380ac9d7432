/* The latest run in the default directory. */
#include <inttypes.h>
#include <stdlib.h>

#include "../profile/fallback.h"
#include "../profile/load.h"
#include "../profile/runs.h"
#include "checks.h"

#define TOPIC    "profile"
#define WORTH_NS 500000000u /* burned without a sample: not by chance */

static void ignore(void *argument, const char *path)
{
    (void)argument;
    (void)path;
}

/* What the library has said of one process. */
static void add_notices(const struct pp_profile *profile, const struct pp_process *process,
                        struct pp_findings *findings)
{
    for (uint32_t i = 0; i < process->notices.count; i++)
        if (process->notices.items[i].severity)
            pp_find(findings, PP_LEVEL_WARN, TOPIC, "process %" PRIu64 " says: %s", process->pid,
                    pp_string(profile, process->notices.items[i].text));
}

static void check_run(const struct pp_profile *profile, const struct pp_run *run, struct pp_findings *findings)
{
    uint64_t samples = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (profile->processes.items[i].run == run->run)
            samples += profile->processes.items[i].accounting.samples;
    bool empty = !samples && run->cpu_ns > WORTH_NS;
    pp_find(findings, empty ? PP_LEVEL_FAIL : PP_LEVEL_OK, TOPIC,
            "the latest run, %.8s: %" PRIu32 " process%s, %.3f s CPU, %" PRIu64 " samples (%s)",
            pp_string(profile, run->run), run->processes, run->processes == 1 ? "" : "es", (double)run->cpu_ns / 1e9,
            samples, pp_string(profile, profile->processes.items[run->first].command_line));
    if (empty)
        pp_remedy(findings, "while it runs, 'pyprof doctor PID' says why");
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if (profile->processes.items[i].run == run->run)
            add_notices(profile, &profile->processes.items[i], findings);
}

void pp_check_latest(const struct pp_cli *cli, struct pp_findings *findings)
{
    char *directory = pp_default_directory(), *fallback = pp_fallback_directory();
    bool any = pp_each_log(directory, ignore, NULL) > 0 || pp_each_log(fallback, ignore, NULL) > 0;
    struct pp_profile *profile = any ? pp_load_sums(cli) : NULL;
    if (!any) {
        pp_find(findings, PP_LEVEL_OK, TOPIC, "none yet in %s", directory);
        pp_remedy(findings, "pyprof run -- python app.py");
    } else if (!profile) {
        pp_find(findings, PP_LEVEL_WARN, TOPIC, "what is in %s cannot be read", directory);
        pp_remedy(findings, "files are private: ask as the user that wrote them, or as root");
    } else {
        uint32_t count;
        struct pp_run *runs = pp_runs_of(profile, &count);
        if (count)
            check_run(profile, &runs[0], findings);
        free(runs);
    }
    pp_profile_free(profile);
    free(directory);
    free(fallback);
}
