/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/output.h"
#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../cli/options.h"
#include "../load/files.h"
#include "../load/load.h"
#include "../model/traces.h"
#include "../query/nothing_left.h"
#include "../view/summary.h"
#include "report.h"
#include "sums_json.h"

#define TOP        10
#define POOLS_FROM 10.0 /* per cent of the CPU time */
#define COLUMNS    80   /* where there is no terminal */

/* Prints the whole report as JSON. Returns false if it could not be written. */
static bool print_json(const struct pt_report *report)
{
    struct pt_profile *profile = report->profile;
    struct pt_json json = pt_json_document(stdout);
    struct pt_report_native native = pt_report_native(profile);
    uint64_t start, end;
    pt_profile_span(profile, &start, &end);
    pt_json_string(&json, "cmdline", profile, pt_summary_first_process(profile)->command_line);
    pt_json_number(&json, "start_unix_ns", start);
    pt_json_number(&json, "end_unix_ns", end);
    pt_json_versions(&json, profile, PT_NONE);
    pt_json_number(&json, "program_ns", report->program_ns);
    pt_json_number(&json, "shown_ns", pt_profile_cpu_ns(profile));
    pt_json_number(&json, "interpreter_ns", native.interpreter_ns);
    pt_json_number(&json, "library_ns", native.library_ns);
    if (profile->request->select.trace)
        pt_report_trace_json(report, &json);
    pt_report_functions_json(report, PT_NONE, PT_NONE, &json);
    if (report->cli->request.by)
        pt_report_by_json(report, &json);
    pt_report_packages_json(report, &json);
    pt_report_lines_json(report, &json);
    pt_report_threads_json(report, false, &json);
    pt_report_threads_json(report, true, &json);
    pt_json_begin(&json, "total", '{');
    pt_json_sums(&json, profile, PT_NONE);
    pt_json_end(&json, '}');
    return pt_json_end_document(&json);
}

/* Prints a command for what this report shows, so that it can be typed as it is. */
static void print_command(const struct pt_cli *cli, const char *before, const char *command, const char *operand,
                          const char *purpose)
{
    PT_AUTO_BUFFER line = {0};
    pt_buffer_text(&line, command);
    if (operand) {
        pt_buffer_text(&line, " ");
        pt_append_argument(&line, operand);
    }
    /* Appends the selection, runs and paths of this report. */
    pt_append_selection(&line, &cli->request.select);
    pt_append_stack_options(&line, &cli->request.select);
    if (cli->request.all)
        pt_buffer_text(&line, " --all");
    if (cli->request.run) {
        pt_buffer_text(&line, " --run ");
        pt_append_argument(&line, cli->request.run);
    }
    for (int i = 0; i < cli->argument_count; i++) {
        pt_buffer_text(&line, " ");
        pt_append_argument(&line, cli->arguments[i]);
    }
    PT_AUTO_FREE char *directory = cli->argument_count ? NULL : pt_directory_to_name(NULL);
    if (directory) {
        pt_buffer_text(&line, " ");
        pt_append_argument(&line, directory);
    }
    fputs(before, stdout);
    pt_print_styled(stdout, PT_STYLE_HEADING, "%s", line.data);
    uint32_t columns = pt_print_columns(stdout) ?: COLUMNS;
    if (6 + pt_shown_width(line.data) + 5 + strlen(purpose) <= columns)
        printf("   (%s)", purpose);
    putchar('\n');
}

/* Returns whether much of the CPU time is of stacks without Python that --join-pools would put under others. */
static bool has_pools(const struct pt_report *report)
{
    const struct pt_profile *profile = report->profile;
    uint64_t native_ns = 0;
    if (!profile->waits || report->cli->request.select.join_pools)
        return false;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        uint32_t node = sample->node;
        while (node && profile->frames.items[profile->nodes.items[node].frame].kind == PP_FRAME_NATIVE)
            node = profile->nodes.items[node].parent;
        native_ns += !node && sample->node ? sample->cpu_ns : 0;
    }
    return pt_percent(native_ns, report->whole_ns) >= POOLS_FROM;
}

static void print_next(const struct pt_report *report)
{
    const char *before = "\nNext: ", *file = pt_report_hot_file(report), *by = report->cli->request.by;
    bool by_trace = by && strcmp(by, "trace") == 0; /* those without --by would show what is in no trace, too */
    if (file && !by_trace) {
        print_command(report->cli, before, "pyprof annotate", file, "its lines, with CPU time");
        before = "      ";
    }
    if (!by_trace && has_pools(report)) {
        print_command(report->cli, before, "pyprof report --join-pools", NULL, "native pools under their callers");
        before = "      ";
    }
    const struct pt_trace *trace = pt_costliest_trace(report->profile);
    if (trace && !report->cli->request.select.trace && (!report->profile->selected || by_trace)) {
        print_command(report->cli, before, "pyprof report --trace", pt_string(report->profile, trace->id),
                      "the trace with most CPU; --by trace: all");
        before = "      ";
    }
    char *endpoint = by_trace ? NULL : pt_report_hot_endpoint(report);
    if (endpoint) {
        print_command(report->cli, before, "pyprof report --focus", endpoint, "one endpoint");
        before = "      ";
    }
    free(endpoint);
    const char *command = !by ? "pyprof flame" : by_trace ? "pyprof flame --trace" : "pyprof flame --by";
    if (by_trace) /* the page cannot show all beside each other; the one of --trace is in the selection */
        by = report->cli->request.select.trace ? NULL : pt_string(report->profile, trace->id);
    print_command(report->cli, before, by ? command : "pyprof flame", by, "a flame graph for the browser");
}

static void print_tables(const struct pt_report *report)
{
    if (!report->cli->request.by)
        pt_report_by_unasked(report);
    if (report->cli->processes || report->cli->threads)
        pt_report_split(report, report->cli->threads);
    else
        pt_report_tables(report, PT_NONE, PT_NONE);
    if (!report->cli->request.by)
        pt_report_package_sums(report);
    pt_report_lines(report);
    pt_report_threads(report);
    pt_report_nameless(report);
}

static void print_report(const struct pt_report *report)
{
    pt_report_header(report);
    if (!report->profile->samples.count) {
        puts("\nNothing was sampled: a program that waits uses no CPU time, and one that has\n"
             "just begun has not been seen yet.");
        pt_report_accounting(report);
        return;
    }
    pt_report_hints(report);
    if (report->profile->request->select.trace)
        pt_report_trace(report);
    print_tables(report);
    pt_report_accounting(report);
    print_next(report);
}

int pt_cmd_report(const struct pt_cli *cli)
{
    struct pt_load_request request = cli->request;
    request.callers = request.middleware = true;
    request.keep = cli->processes || cli->threads ? PT_KEEP_SAMPLES : PT_KEEP_STACKS;
    struct pt_profile *profile = pt_load(&request);
    if (!profile)
        return PT_EXIT_DATA;
    struct pt_report report = {.profile = profile, .cli = cli, .top = cli->top ? cli->top : TOP};
    report.sum = pt_summary_accounting(profile, PT_NONE);
    report.whole_ns = pt_summary_program_ns(profile);
    report.program_ns = profile->selected ? profile->whole_ns : report.whole_ns;
    report.draws = pt_draws_of(profile);
    bool written = true;
    if (cli->json)
        written = print_json(&report);
    else
        print_report(&report);
    pt_profile_free(profile);
    return written ? PT_EXIT_OK : PT_EXIT_DATA;
}
