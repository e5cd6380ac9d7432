/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/json.h"
#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../cli/options.h"
#include "../load/load.h"
#include "../load/runs.h"

#define SHORTEST_ID   8
#define LONGEST_ID    64
#define SECONDS_SHOWN 600 /* longer durations are in minutes and hours */

/* Returns how many characters of the ids distinguish them, but for repeats. */
static size_t id_length(const struct pt_profile *profile, const struct pt_run *runs, uint32_t count)
{
    size_t length = SHORTEST_ID;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            while (length < LONGEST_ID &&
                   !pt_are_repeats(pt_string(profile, runs[i].run), pt_string(profile, runs[j].run)) &&
                   strncmp(pt_string(profile, runs[i].run), pt_string(profile, runs[j].run), length) == 0)
                length++;
    return length;
}

static void append_duration(struct pt_buffer *text, uint64_t ns)
{
    uint64_t seconds = ns / PT_SECOND;
    if (seconds < SECONDS_SHOWN)
        pt_buffer_format(text, "%.2f s", (double)ns / PT_SECOND);
    else if (seconds < 3600)
        pt_buffer_format(text, "%" PRIu64 " m %02" PRIu64 " s", seconds / 60, seconds % 60);
    else
        pt_buffer_format(text, "%" PRIu64 " h %02" PRIu64 " m", seconds / 3600, seconds / 60 % 60);
}

static uint64_t duration_of(const struct pt_run *run)
{
    return run->end_unix_ns > run->start_unix_ns ? run->end_unix_ns - run->start_unix_ns : 0;
}

static void print_text(const struct pt_profile *profile, const struct pt_run *runs, uint32_t count)
{
    int width = (int)id_length(profile, runs, count);
    pt_print_styled(stdout, PT_STYLE_HEADING, "%-*s  %-19s  %9s  %9s  %5s  COMMAND\n", width, "RUN", "START",
                    "DURATION", "CPU", "PROCS");
    for (uint32_t i = 0; i < count; i++) {
        PT_AUTO_BUFFER start = {0}, duration = {0}, cpu = {0}, command = {0};
        pt_buffer_time(&start, runs[i].start_unix_ns);
        append_duration(&duration, duration_of(&runs[i]));
        append_duration(&cpu, runs[i].cpu_ns);
        int used = printf("%-*.*s  %-19s  %9s  %9s  %5" PRIu32 "  ", width, width, pt_string(profile, runs[i].run),
                          start.data, duration.data, cpu.data, runs[i].processes);
        uint32_t columns = pt_print_columns(stdout), left = columns > (uint32_t)used ? columns - (uint32_t)used : 0;
        pt_short_command(&command, pt_string(profile, profile->processes.items[runs[i].first].command_line), left);
        pt_print_text(stdout, command.length ? command.data : "", (uint32_t)used, PT_STYLE_PLAIN);
    }
}

static void print_json(const struct pt_profile *profile, const struct pt_run *runs, uint32_t count)
{
    struct pt_json json = pt_json_document(stdout);
    pt_json_begin(&json, "runs", '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_run *run = &runs[i];
        pt_json_begin(&json, NULL, '{');
        pt_json_text(&json, "run", pt_string(profile, run->run));
        pt_json_number(&json, "start_unix_ns", run->start_unix_ns);
        pt_json_number(&json, "end_unix_ns", run->end_unix_ns);
        pt_json_number(&json, "duration_ns", duration_of(run));
        pt_json_number(&json, "cpu_ns", run->cpu_ns);
        pt_json_number(&json, "processes", run->processes);
        pt_json_number(&json, "not_ended", run->not_ended);
        pt_json_number(&json, "segments", run->segments);
        pt_json_text(&json, "cmdline", pt_string(profile, profile->processes.items[run->first].command_line));
        pt_json_end(&json, '}');
    }
    pt_json_end(&json, ']');
    pt_json_end_document(&json);
}

int pt_cmd_runs(const struct pt_cli *cli)
{
    struct pt_load_request request = cli->request;
    request.keep = PT_KEEP_SUMS;
    struct pt_profile *profile = pt_load(&request);
    if (!profile)
        return PT_EXIT_DATA;
    uint32_t count;
    PT_AUTO_FREE struct pt_run *runs = pt_runs_of(profile, &count);
    if (cli->json)
        print_json(profile, runs, count);
    else
        print_text(profile, runs, count);
    pt_profile_free(profile);
    return PT_EXIT_OK;
}
