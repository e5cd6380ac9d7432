/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../preload/common/label_kinds.h"
#include "../base/pager.h"
#include "../cli/options.h"
#include "../ctl/running.h"
#include "../load/files.h"
#include "../load/load.h"
#include "../view/summary.h"
#include "own_table.h"
#include "report.h"
#include "sums_json.h"

#define TOP 10

/* Prints the whole report as JSON. Returns false if it could not be written. */
static bool print_json(const struct pt_report *report)
{
    struct pt_profile *profile = report->profile;
    struct pt_json json = pt_json_document(stdout);
    struct pt_report_code code = pt_report_code_of(profile);
    uint64_t start, end;
    pt_profile_span(profile, &start, &end);
    pt_json_string(&json, "cmdline", profile, pt_summary_first_process(profile)->command_line);
    pt_json_number(&json, "start_unix_ns", start);
    pt_json_number(&json, "end_unix_ns", end);
    pt_json_versions(&json, profile, PT_NONE);
    pt_json_number(&json, "program_ns", report->program_ns);
    struct pt_several runs = pt_cpu_of_runs(profile);
    pt_json_number(&json, "runs", runs.count);
    pt_json_format(&json, "run_cpu_ns", "%.0f", runs.mean * 1e9);
    if (runs.count > 1)
        pt_json_format(&json, "run_cpu_margin_ns", "%.0f", pt_mean_margin(&runs) * 1e9);
    pt_json_number(&json, "shown_ns", pt_profile_cpu_ns(profile));
    pt_json_number(&json, "interpreter_ns", code.interpreter_ns);
    pt_json_number(&json, "library_ns", code.library_ns);
    pt_json_number(&json, "jit_ns", code.jit_ns);
    if (profile->request->select.trace)
        pt_report_trace_json(report, &json);
    pt_report_functions_json(report, PT_NONE, PT_NONE, &json);
    if (report->cli->request.by)
        pt_report_by_json(report, &json);
    pt_report_packages_json(report, &json);
    pt_report_lines_json(report, &json);
    pt_report_neighbours_json(report, &json);
    pt_report_threads_json(report, false, &json);
    pt_report_threads_json(report, true, &json);
    pt_json_begin(&json, "total", '{');
    pt_json_sums(&json, profile, PT_NONE);
    pt_json_end(&json, '}');
    return pt_json_end_document(&json);
}

static void print_functions(const struct pt_report *report)
{
    pt_report_functions(report, PT_NONE, PT_NONE, PT_FUNCTIONS);
}

static void print_native(const struct pt_report *report)
{
    pt_report_functions(report, PT_NONE, PT_NONE, PT_NATIVE_FUNCTIONS);
    pt_report_nameless(report);
}

static void print_own(const struct pt_report *report)
{
    putchar('\n');
    pt_report_own(report, PT_SCREEN);
}

static void print_by(const struct pt_report *report)
{
    pt_report_by(report, PT_NONE, PT_NONE);
}

/* The tables that can be had by their names. */
static const struct table {
    const char *name, *by; /* by: what --by asks for the same; NULL: nothing */
    void (*print)(const struct pt_report *report);
} tables[] = {
    {"own", NULL, print_own},          {"functions", NULL, print_functions},     {"lines", NULL, pt_report_lines},
    {"native", NULL, print_native},    {"imports", NULL, pt_report_imports},     {"threads", NULL, pt_report_threads},
    {"packages", "package", print_by}, {"endpoints", PP_KEY_ENDPOINT, print_by}, {"tasks", PP_KEY_TASK, print_by},
    {"tests", PP_KEY_TEST, print_by},  {"greenlets", PP_KEY_GREENLET, print_by}, {"spans", PP_KEY_SPAN, print_by},
};

/* Returns the table that the first operand names; NULL if it is a path: a path of that name is ./NAME. */
static const struct table *table_named(const struct pt_cli *cli)
{
    for (size_t i = 0; cli->argument_count && i < sizeof tables / sizeof tables[0]; i++) {
        size_t length = strlen(tables[i].name), singular = length - (tables[i].name[length - 1] == 's');
        size_t given = strlen(cli->arguments[0]);
        if ((given == length || given == singular) && strncmp(cli->arguments[0], tables[i].name, given) == 0)
            return &tables[i];
    }
    return NULL;
}

/* Prints all tables, or those that options ask for. */
static void print_tables(const struct pt_report *report)
{
    const struct pt_cli *cli = report->cli;
    bool split = cli->processes || cli->threads;
    if (!cli->request.by)
        pt_report_by_unasked(report, UINT32_MAX);
    if (split)
        pt_report_split(report, cli->threads);
    else
        pt_report_tables(report, PT_NONE, PT_NONE);
    if (cli->request.by)
        return;
    pt_report_package_sums(report);
    pt_report_lines(report);
    pt_report_threads(report);
    pt_report_nameless(report);
}

static void print_report(const struct pt_report *report, const struct table *table)
{
    const struct pt_selection *select = &report->profile->request->select;
    if (report->screen && report->profile->samples.count) {
        pt_report_screen(report);
        return;
    }
    bool neighbours = report->cli->callers || report->cli->callees;
    if (table || neighbours || report->cli->request.by)
        pt_report_what_ran(report);
    else
        pt_report_header(report);
    if (!report->profile->samples.count) {
        puts("\nNothing was sampled: a program that waits uses no CPU time, and one that has\n"
             "just begun has not been seen yet.");
        pt_report_accounting(report);
        return;
    }
    if (!table && !neighbours)
        pt_report_hints(report);
    if (select->trace)
        pt_report_trace(report);
    if (neighbours)
        pt_report_neighbours(report);
    else if (table)
        table->print(report);
    else
        print_tables(report);
    pt_report_accounting(report);
    PT_AUTO(pt_next_free) struct pt_next next = pt_report_next(report);
    putchar('\n');
    pt_next_print(report, &next);
}

/* Says what an operand may have meant that was no profile: a table, or where processes have yet to write. */
static void explain_operands(const struct pt_cli *cli)
{
    PT_AUTO_FREE char *directory = cli->argument_count ? pt_strdup(cli->arguments[0]) : pt_default_directory();
    struct pt_starting starting = pt_starting_find(directory);
    PT_AUTO_BUFFER names = {0};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        pt_buffer_format(&names, "%s%s", i ? ", " : "", tables[i].name);
    for (int i = 0; i < cli->argument_count && !starting.count; i++)
        if (!strpbrk(cli->arguments[i], "./") && access(cli->arguments[i], F_OK) != 0) {
            pt_message("a table comes before the path: %s", names.data);
            return;
        }
    if (starting.count)
        pt_message("%" PRIu32 " %s to write there, nothing so far%s: 'pyprof ctl %s status'", starting.count,
                   starting.count == 1 ? "process is" : "processes are", starting.paused ? ", paused" : "", directory);
}

int pt_cmd_report(const struct pt_cli *given)
{
    const struct table *table = table_named(given);
    struct pt_cli cli = *given;
    if (table) {
        cli.request.by = table->by ? table->by : cli.request.by;
        cli.request.paths = ++cli.arguments;
        cli.request.path_count = --cli.argument_count;
    }
    struct pt_load_request request = cli.request;
    request.callers = request.middleware = true;
    request.keep = cli.processes || cli.threads ? PT_KEEP_SAMPLES : PT_KEEP_STACKS;
    struct pt_profile *profile = pt_load(&request);
    if (!profile) {
        explain_operands(&cli);
        return PT_EXIT_DATA;
    }
    struct pt_report report = {.profile = profile, .cli = &cli, .top = cli.top ? cli.top : TOP};
    bool neighbours = cli.callers || cli.callees;
    report.screen = !cli.full && !table && !neighbours && !cli.request.by && !cli.processes && !cli.threads &&
                    !request.select.trace;
    report.sum = pt_summary_accounting(profile, PT_NONE);
    report.whole_ns = pt_summary_program_ns(profile);
    report.program_ns = profile->selected ? profile->whole_ns : report.whole_ns;
    report.draws = pt_draws_of(profile);
    bool written = true;
    if (!cli.no_pager)
        pt_pager_start();
    if (cli.json)
        written = print_json(&report);
    else
        print_report(&report, table);
    pt_profile_free(profile);
    return written ? PT_EXIT_OK : PT_EXIT_DATA;
}
