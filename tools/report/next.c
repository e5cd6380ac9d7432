/* SPDX-License-Identifier: Apache-2.0 */
/* What to type next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/output.h"
#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../load/files.h"
#include "../model/traces.h"
#include "../query/group.h"
#include "../query/nothing_left.h"
#include "../view/summary.h"
#include "report.h"

#define POOLS_FROM     10.0 /* per cent of the CPU time */
#define IMPORTS_FROM   25.0
#define MOST_ON_SCREEN 3

/* Prints a command for what this report shows, so that it can be typed as it is. */
static void print_command(const struct pt_cli *cli, const char *before, const struct pt_next_command *next)
{
    PT_AUTO_BUFFER line = {0};
    pt_buffer_text(&line, next->command);
    if (next->operand) {
        pt_buffer_text(&line, " ");
        pt_append_argument(&line, next->operand);
    }
    /* Appends the selection, runs and paths of this report. */
    pt_append_selection(&line, &cli->request.select);
    pt_append_stack_options(&line, &cli->request.select);
    if (cli->request.select.fold_recursion && !strstr(next->command, "annotate")) /* it has lines, not stacks */
        pt_buffer_text(&line, " --fold-recursion");
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
    uint32_t columns = pt_print_columns(stdout) ?: PT_SCREEN_COLUMNS;
    if (6 + pt_shown_width(line.data) + 5 + strlen(next->purpose) <= columns)
        printf("   (%s)", next->purpose);
    putchar('\n');
}

/* Returns whether much of the CPU time is of stacks without Python that --join-pools would put under others. */
static bool has_pools(const struct pt_report *report)
{
    const struct pt_profile *profile = report->profile;
    uint64_t native_ns = 0;
    if (!profile->waits || report->cli->request.select.join_pools)
        return false;
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        uint32_t node = sample->node;
        while (node && profile->frames.items[profile->nodes.items[node].frame].kind == PP_FRAME_NATIVE)
            node = profile->nodes.items[node].parent;
        native_ns += !node && sample->node ? sample->cpu_ns : 0;
    }
    return pt_percent(native_ns, report->whole_ns) >= POOLS_FROM;
}

/* Returns whether much of the CPU time is of imports. */
static bool has_imports(const struct pt_report *report)
{
    PT_AUTO(pt_group_free) struct pt_group group = pt_group_without_imports(report->profile, PP_KEY_ENDPOINT);
    uint64_t ns = 0;
    uint32_t imports = pt_intern_text(report->profile, PT_IMPORTS);
    for (PT_EACH(const struct pt_sample, sample, &report->profile->samples))
        ns += group.apart[sample->node] == imports ? sample->cpu_ns : 0;
    return pt_percent(ns, report->whole_ns) >= IMPORTS_FROM;
}

static void add(struct pt_next *next, const char *command, const char *operand, const char *purpose)
{
    next->items[next->count++] = (struct pt_next_command){command, operand ? pt_strdup(operand) : NULL, purpose};
}

struct pt_next pt_report_next(const struct pt_report *report)
{
    struct pt_next next = {0};
    const char *file = pt_report_hot_file(report), *by = report->cli->request.by;
    bool by_trace = by && strcmp(by, "trace") == 0; /* those without --by would show what is in no trace, too */
    if (file && !by_trace)
        add(&next, "pyprof annotate", file, "its lines, with CPU time");
    if (!by_trace && has_pools(report))
        add(&next, "pyprof report --join-pools", NULL, "native pools under their callers");
    if (report->screen && has_imports(report))
        add(&next, "pyprof report imports", NULL, "what the start costs, by module");
    const struct pt_trace *trace = pt_costliest_trace(report->profile);
    if (trace && !report->cli->request.select.trace && (!report->profile->selected || by_trace))
        add(&next, "pyprof report --trace", pt_string(report->profile, trace->id),
            "the trace with most CPU; --by trace: all");
    bool room = !report->screen || next.count < MOST_ON_SCREEN - 1;
    PT_AUTO_FREE char *endpoint = by_trace || !room ? NULL : pt_report_hot_endpoint(report);
    if (endpoint)
        add(&next, "pyprof report --focus", endpoint, "one endpoint");
    const char *command = !by ? "pyprof flame" : by_trace ? "pyprof flame --trace" : "pyprof flame --by";
    if (by_trace) /* the page cannot show all beside each other; the one of --trace is in the selection */
        by = report->cli->request.select.trace ? NULL : pt_string(report->profile, trace->id);
    add(&next, by ? command : "pyprof flame", by, "a flame graph for the browser");
    return next;
}

void pt_next_print(const struct pt_report *report, const struct pt_next *next)
{
    for (uint32_t i = 0; i < next->count; i++)
        print_command(report->cli, i ? "      " : "Next: ", &next->items[i]);
}

void pt_next_free(struct pt_next *next)
{
    for (uint32_t i = 0; i < next->count; i++)
        free(next->items[i].operand);
}
