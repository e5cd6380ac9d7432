#include "run_summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "output.h"
#include "profile/fallback.h"
#include "profile/load.h"
#include "profile/summary.h"

/* Files that were written since the run began. */
struct recent {
    struct pp_files files;
    time_t since;
};

static void add_log(void *context, const char *path)
{
    struct recent *recent = context;
    struct stat status;
    if (stat(path, &status) == 0 && status.st_mtime >= recent->since)
        pp_files_add(&recent->files, path, false);
}

/* The paths of this run's files in a directory, and where else the library has put some, which the caller frees.
 * elsewhere: the directory if all are there, else NULL. */
static char **paths_of(const char *run, time_t since, const char *directory, uint32_t *count, char **elsewhere)
{
    bool here = false;
    struct recent recent = {.since = since};
    pp_each_log(directory, add_log, &recent);
    pp_files_add_fallbacks(&recent.files, run, (uint64_t)since * 1000000000u);
    char **paths = pp_alloc((size_t)recent.files.count + 1, sizeof *paths);
    *count = 0;
    for (uint32_t i = 0; i < recent.files.count; i++)
        if (strcmp(recent.files.items[i].run, run) == 0) {
            paths[(*count)++] = pp_strdup(recent.files.items[i].path);
            here |= !recent.files.items[i].fallback;
        }
    *elsewhere = *count && !here ? pp_strdup(paths[0]) : NULL;
    if (*elsewhere)
        *strrchr(*elsewhere, '/') = 0;
    pp_files_free(&recent.files);
    return paths;
}

static struct pp_profile *load_run(const char *run, time_t since, const char *directory, char **elsewhere)
{
    uint32_t count;
    char **paths = paths_of(run, since, directory, &count, elsewhere);
    const struct pp_cli cli = {.to_ns = UINT64_MAX, .run = run, .arguments = paths, .argument_count = (int)count};
    struct pp_profile *profile = count ? pp_load_sums(&cli) : NULL;
    for (uint32_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    return profile;
}

static void say_sums(const struct pp_profile *profile, const char *place)
{
    struct pp_accounting sum = pp_summary_accounting(profile, PP_NONE);
    struct pp_buffer text = {0}, path = {0};
    uint64_t start, end;
    uint32_t not_ended = 0, processes = profile->processes.count;
    pp_summary_span(profile, &start, &end);
    for (uint32_t i = 0; i < processes; i++)
        not_ended += !profile->processes.items[i].ended;
    pp_buffer_format(&text, "%" PRIu64 " sample%s, %.2f s CPU", sum.samples, sum.samples == 1 ? "" : "s",
                     (double)sum.cpu_ns / 1e9);
    if (end > start)
        pp_buffer_format(&text, " in %.2f s", (double)(end - start) / 1e9);
    pp_buffer_format(&text, ", %" PRIu32 " process%s", processes, processes == 1 ? "" : "es");
    if (not_ended)
        pp_buffer_format(&text, " (%" PRIu32 " still running or killed)", not_ended);
    if (place) {
        pp_buffer_text(&path, " ");
        pp_append_argument(&path, place);
    }
    pp_error("%s; next: pyprof report%s", text.data, path.length ? path.data : "");
    pp_buffer_free(&text);
    pp_buffer_free(&path);
}

void pp_run_summary(const char *run, time_t since, const char *directory, const char *chosen, const char *reason,
                    const char *command)
{
    char *elsewhere;
    struct pp_profile *profile = load_run(run, since, directory, &elsewhere);
    if (profile)
        say_sums(profile, elsewhere ? elsewhere : chosen);
    else if (reason)
        pp_error("nothing was profiled: %s", reason);
    else
        pp_error("nothing was profiled: no Python in it burned CPU time for a sample, 10 ms; 'pyprof doctor -- %s' "
                 "looks for other reasons",
                 command);
    pp_profile_free(profile);
    free(elsewhere);
}
