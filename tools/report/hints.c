/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/print.h"
#include "../model/frame_text.h"
#include "../view/summary.h"
#include "report.h"

#define WAITED_FROM    50.0      /* per cent of the run's time */
#define PREEMPTED_NS   10000000u /* what a thread may wait for a CPU after each preemption */
#define SPINS_FROM     5.0       /* per cent of the CPU time */
#define NAMELESS_FROM  10.0      /* per cent of the CPU time: from here on names are worth some trouble */
#define NAMELESS_MIN   1.0       /* per cent, of a module that is named */
#define NAMELESS_NAMED 4         /* modules to name */

static void __attribute__((format(printf, 1, 2))) hint(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pt_format(format, arguments);
    va_end(arguments);
    pt_print_styled(stdout, PT_STYLE_WARNING, "Hint");
    pt_print_paragraph(4, 2, ": %s", text);
    free(text);
}

/* The time in which no thread used a CPU is at least the run's less the CPU time of all threads. A thread that was
 * preempted (an involuntary switch) waited for a CPU, which is no property of the program. */
static void hint_waiting(const struct pt_report *report)
{
    uint64_t wall_ns = report->sum.wall_ns, preempted_ns = report->sum.involuntary_switches * PREEMPTED_NS;
    uint64_t billed_ns = pt_summary_billed_ns(report->profile); /* with children that are not profiled */
    uint64_t cpu_ns = report->sum.cpu_ns > billed_ns ? report->sum.cpu_ns : billed_ns;
    if (report->profile->selected || wall_ns <= cpu_ns + preempted_ns ||
        pt_percent(wall_ns - cpu_ns - preempted_ns, wall_ns) < WAITED_FROM)
        return;
    hint("the program waited %.0f %% of the %.2f s that it ran, if no CPU limit of its container held it back. pyprof "
         "measures CPU time only: what a program waits for is shown by py-spy dump --pid PID.",
         pt_percent(wall_ns - cpu_ns, wall_ns), pt_seconds(wall_ns));
}

static void hint_spinning(const struct pt_report *report)
{
    const struct pt_spinning *spinning = &report->profile->spinning;
    double percent = pt_percent(spinning->ns, report->whole_ns);
    if (percent >= SPINS_FROM)
        hint("%.1f %% of the CPU time went to threads of a native library that wait for each other in a loop (%s). "
             "With %s they do not.",
             percent, spinning->function, spinning->advice);
}

void pt_report_nameless(const struct pt_report *report)
{
    const struct pt_profile *profile = report->profile;
    uint64_t *ns_of_module = pt_alloc(profile->modules.count, sizeof *ns_of_module), nameless_ns = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        uint32_t frame = profile->nodes.items[profile->samples.items[i].node].frame;
        if (frame == PT_NONE || profile->frames.items[frame].kind != PP_FRAME_NATIVE)
            continue;
        uint32_t module = profile->frames.items[frame].subject;
        if (profile->frames.items[frame].symbol || module == PT_NONE || !profile->modules.items[module].build_id)
            continue;
        ns_of_module[module] += profile->samples.items[i].cpu_ns;
        nameless_ns += profile->samples.items[i].cpu_ns;
    }
    struct pt_buffer modules = {0};
    for (unsigned named = 0; named < NAMELESS_NAMED && profile->modules.count; named++) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < profile->modules.count; i++)
            if (ns_of_module[i] > ns_of_module[most])
                most = i;
        if (pt_percent(ns_of_module[most], report->whole_ns) < NAMELESS_MIN)
            break;
        pt_buffer_format(&modules, "%s%s", named ? ", " : "",
                         pt_base_name(pt_string(profile, profile->modules.items[most].path)));
        ns_of_module[most] = 0;
    }
    if (pt_percent(nameless_ns, report->whole_ns) >= NAMELESS_FROM) {
        putchar('\n');
        hint("%.1f %% of the CPU time is in native functions without a name (%s). Debug symbols would name them, also "
             "in this profile: packages -dbgsym, of the archive debian-debug or ddebs, or DEBUGINFOD_URLS.",
             pt_percent(nameless_ns, report->whole_ns), modules.length ? modules.data : "many libraries");
    }
    pt_buffer_free(&modules);
    free(ns_of_module);
}

void pt_report_hints(const struct pt_report *report)
{
    hint_waiting(report);
    hint_spinning(report);
}
