/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/print.h"
#include "../load/runs.h"
#include "../model/gil_gc.h"
#include "../view/command.h"
#include "../view/summary.h"
#include "report.h"

#define STATES_KNOWN_PERCENT 90.0 /* of the CPU time, below which it is mentioned */

/* Appends the Python versions, each once: "3.8.18, 3.11.2 and 3.13.0". */
static void append_versions(struct pt_buffer *text, struct pt_profile *profile)
{
    uint32_t count;
    uint32_t *versions = pt_summary_versions(profile, PT_NONE, &count);
    pt_buffer_text(text, count ? "Python " : "no Python");
    for (uint32_t i = 0; i < count; i++)
        pt_buffer_format(text, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", pt_string(profile, versions[i]));
    free(versions);
}

/* Says in which code the CPU was, innermost: the rest has no stack, or is garbage collection. */
static void print_code(const struct pt_report *report)
{
    const uint64_t *kind_ns = report->profile->kind_ns;
    struct pt_report_native native = pt_report_native(report->profile);
    if (!native.interpreter_ns && !native.library_ns)
        return;
    pt_print_paragraph(0, 2, "CPU: Python code %.1f %%, Python's own C code %.1f %%, native libraries %.1f %%",
                       pt_percent(kind_ns[PT_KIND_APPLICATION] + kind_ns[PT_KIND_PACKAGE] + kind_ns[PT_KIND_STANDARD],
                                  report->whole_ns),
                       pt_percent(native.interpreter_ns, report->whole_ns),
                       pt_percent(native.library_ns, report->whole_ns));
}

/* Prints nothing where nothing is known: that is not 0 %. */
static void print_states(const struct pt_report *report)
{
    struct pt_states states = pt_states_of(report->profile, PT_NONE);
    uint64_t least = states.gil_known_ns;
    if (states.gil_known_ns)
        printf("GIL held %.1f %% of the CPU time", pt_percent(states.gil_ns, states.gil_known_ns));
    if (states.gc_known_ns) {
        printf("%s%.1f %%", states.gil_known_ns ? ", garbage collection " : "Garbage collection ",
               pt_percent(states.gc_ns, states.gc_known_ns));
        least = least && least < states.gc_known_ns ? least : states.gc_known_ns;
    }
    if (least && pt_percent(least, report->whole_ns) < STATES_KNOWN_PERCENT)
        printf(" (known for %.1f %%)", pt_percent(least, report->whole_ns));
    if (least)
        putchar('\n');
}

void pt_report_header(const struct pt_report *report)
{
    struct pt_profile *profile = report->profile;
    struct pt_buffer command = {0}, versions = {0}, of_runs = {0};
    append_versions(&versions, profile);
    double wall = pt_seconds(report->sum.wall_ns), cpu = pt_seconds(report->program_ns);
    uint64_t threads = report->sum.threads + report->sum.exited_threads, cpus = pt_summary_cpus(profile);
    pt_typed_command(&command, pt_string(profile, pt_summary_first_process(profile)->command_line));
    pt_print_text(stdout, command.data, 0, PT_STYLE_HEADING);
    uint32_t runs;
    free(pt_runs_of(profile, &runs));
    if (runs > 1)
        pt_buffer_format(&of_runs, " of %u runs", runs);
    pt_print_paragraph(0, 2, "%u process%s%s, %" PRIu64 " thread%s, %s: %" PRIu64 " sample%s", profile->processes.count,
                       pt_plural(profile->processes.count, "es"), of_runs.length ? of_runs.data : "", threads,
                       pt_plural(threads, "s"), versions.data, report->sum.samples,
                       pt_plural(report->sum.samples, "s"));
    printf("%.2f s CPU in %.2f s", cpu, wall);
    if (wall > 0 && cpus)
        printf(", %.2f of %" PRIu64 " cores busy", cpu / wall, cpus);
    else if (wall > 0)
        printf(", %.2f cores busy", cpu / wall);
    putchar('\n');
    if (profile->selected)
        printf("Selected: %.2f s of %.2f s CPU; shares are of what is selected\n", pt_seconds(report->whole_ns),
               pt_seconds(profile->whole_ns));
    print_code(report);
    print_states(report);
    pt_buffer_free(&of_runs);
    pt_buffer_free(&command);
    pt_buffer_free(&versions);
}
