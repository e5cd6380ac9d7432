/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../load/runs.h"
#include "../model/frame_text.h"
#include "../model/gil_gc.h"
#include "../model/ready.h"
#include "../model/selection.h"
#include "../view/summary.h"
#include "../view/uncertainty.h"
#include "report.h"

#define STATES_KNOWN_PERCENT 90.0      /* of the CPU time, below which it is mentioned */
#define WAITED_FROM          50.0      /* per cent of the run's time */
#define PREEMPTED_NS         10000000u /* what a thread may wait for a CPU after each preemption */
#define NAMELESS_FROM        10.0      /* per cent of the CPU time: from here on names are worth some trouble */
#define NAMELESS_MIN         1.0       /* per cent, of a module that is named */
#define NAMELESS_NAMED       4         /* modules to name */
#define SHORT_NS             (10 * (uint64_t)PT_SECOND) /* a time that is selected: shorter ones have tenths */

static void __attribute__((format(printf, 1, 2))) hint(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PT_AUTO_FREE char *text = pt_format(format, arguments);
    va_end(arguments);
    pt_print_styled(stdout, PT_STYLE_WARNING, "Hint");
    pt_print_paragraph(4, 2, ": %s", text);
}

/* The time in which no thread used a CPU is at least the run's less the CPU time of all threads. A thread that was
 * preempted (an involuntary switch) waited for a CPU, which is no property of the program. */
double pt_report_waited(const struct pt_report *report)
{
    uint64_t wall_ns = report->sum.wall_ns, preempted_ns = report->sum.involuntary_switches * PREEMPTED_NS;
    uint64_t billed_ns = pt_summary_billed_ns(report->profile); /* with children that are not profiled */
    uint64_t cpu_ns = report->sum.cpu_ns > billed_ns ? report->sum.cpu_ns : billed_ns;
    if (report->profile->selected || wall_ns <= cpu_ns + preempted_ns ||
        pt_percent(wall_ns - cpu_ns - preempted_ns, wall_ns) < WAITED_FROM)
        return 0;
    return pt_percent(wall_ns - cpu_ns, wall_ns);
}

static void hint_waiting(const struct pt_report *report)
{
    double waited = pt_report_waited(report);
    if (waited > 0)
        hint("the program waited %.0f %% of the %.2f s that it ran, if no CPU limit of its container held it back. "
             "pyprof measures CPU time only: what a program waits for is shown by py-spy dump --pid PID.",
             waited, pt_seconds(report->sum.wall_ns));
}

static void hint_spinning(const struct pt_report *report)
{
    const struct pt_spinning *spinning = &report->profile->spinning;
    double percent = pt_percent(spinning->ns, report->whole_ns);
    if (percent >= PT_SPINS_FROM)
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
    PT_AUTO_BUFFER modules = {0};
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
    free(ns_of_module);
}

void pt_report_hints(const struct pt_report *report)
{
    hint_waiting(report);
    hint_spinning(report);
}

/* Appends the Python versions, each once: "3.8.18, 3.11.2 and 3.13.0". */
static void append_versions(struct pt_buffer *text, struct pt_profile *profile)
{
    uint32_t count;
    PT_AUTO_FREE uint32_t *versions = pt_summary_versions(profile, PT_NONE, &count);
    pt_buffer_text(text, count ? "Python " : "no Python");
    for (uint32_t i = 0; i < count; i++)
        pt_buffer_format(text, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", pt_string(profile, versions[i]));
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

/* Prints the command, as it was typed. */
static void print_typed(const struct pt_report *report)
{
    PT_AUTO_BUFFER command = {0};
    pt_typed_command(&command, pt_string(report->profile, pt_summary_first_process(report->profile)->command_line));
    pt_print_text(stdout, command.data, 0, PT_STYLE_HEADING);
}

/* Appends how long it ran, and with how many cores. */
static void append_times(struct pt_buffer *text, const struct pt_report *report)
{
    double wall = pt_seconds(report->sum.wall_ns), cpu = pt_seconds(report->program_ns);
    uint64_t cpus = pt_summary_cpus(report->profile);
    pt_buffer_format(text, "%.2f s CPU in %.2f s", cpu, wall);
    if (wall > 0 && cpus)
        pt_buffer_format(text, ", %.2f of %" PRIu64 " cores busy", cpu / wall, cpus);
    else if (wall > 0)
        pt_buffer_format(text, ", %.2f cores busy", cpu / wall);
}

static bool are_times_selected(const struct pt_report *report)
{
    const struct pt_selection *select = &report->profile->request->select;
    return (pt_when_is_given(&select->from) && !select->from.ready) ||
           (pt_when_is_given(&select->to) && !select->to.ready);
}

static void append_processes(struct pt_buffer *text, const struct pt_report *report)
{
    uint32_t count = report->profile->processes.count, runs;
    pt_buffer_format(text, "%u process%s", count, pt_plural(count, "es"));
    free(pt_runs_of(report->profile, &runs));
    if (runs > 1)
        pt_buffer_format(text, " of %u runs", runs);
    if (are_times_selected(report)) /* files of other times were not read: the sums are without them */
        pt_buffer_text(text, " of that time");
}

/* Appends the local time, with its date if that is not the other moment's; fine: with tenths of a second. */
static void append_moment(struct pt_buffer *text, uint64_t unix_ns, uint64_t other_unix_ns, bool fine)
{
    time_t seconds = (time_t)(unix_ns / PT_SECOND), other_seconds = (time_t)(other_unix_ns / PT_SECOND);
    struct tm local = {0}, other = {0};
    char digits[32];
    localtime_r(&seconds, &local);
    localtime_r(&other_seconds, &other);
    bool is_same_day = local.tm_yday == other.tm_yday && local.tm_year == other.tm_year;
    strftime(digits, sizeof digits, is_same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &local);
    pt_buffer_text(text, digits);
    if (fine)
        pt_buffer_format(text, ".%" PRIu64, unix_ns % PT_SECOND / (PT_SECOND / 10));
}

/* Prints which time was selected, and how many cores its CPU time is. */
static void print_selected_times(const struct pt_report *report)
{
    const struct pt_profile *profile = report->profile;
    uint64_t start, end, cpus = pt_summary_cpus(profile);
    pt_profile_span(profile, &start, &end);
    start = profile->run_start_unix_ns && profile->run_start_unix_ns < start ? profile->run_start_unix_ns : start;
    pt_selected_window(profile, &start, &end);
    bool fine = end < start + SHORT_NS;
    PT_AUTO_BUFFER text = {0};
    append_moment(&text, start, (uint64_t)time(NULL) * PT_SECOND, fine);
    pt_buffer_text(&text, " to ");
    append_moment(&text, end, start, fine);
    printf("Selected: %s, %.2f s of %.2f s CPU", text.data, pt_seconds(report->whole_ns),
           pt_seconds(profile->whole_ns));
    if (end > start && cpus)
        printf(", %.2f of %" PRIu64 " cores", (double)report->whole_ns / (double)(end - start), cpus);
    putchar('\n');
}

/* Prints how much was after or before the processes were ready. */
static void print_ready(const struct pt_report *report, bool after)
{
    const struct pt_profile *profile = report->profile;
    uint32_t never = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++)
        never += pt_ready_unix_ns(&profile->processes.items[i].ready) == UINT64_MAX;
    printf("%s: %.2f of %.2f s CPU; the rest: --%s ready", after ? "After start-up" : "Start-up",
           pt_seconds(report->whole_ns), pt_seconds(profile->whole_ns), after ? "to" : "from");
    if (never)
        printf("; never ready: %u process%s", never, pt_plural(never, "es"));
    putchar('\n');
}

static void print_selected(const struct pt_report *report)
{
    const struct pt_selection *select = &report->profile->request->select;
    if (select->from.ready || select->to.ready)
        print_ready(report, select->from.ready);
    else if (report->profile->selected && are_times_selected(report))
        print_selected_times(report);
    else if (report->profile->selected)
        printf("Selected: %.2f s of %.2f s CPU; shares are of what is selected\n", pt_seconds(report->whole_ns),
               pt_seconds(report->profile->whole_ns));
}

/* Prints how the CPU of several runs spreads. */
static void print_runs(const struct pt_report *report)
{
    struct pt_several runs = pt_cpu_of_runs(report->profile);
    if (runs.count > 1)
        printf("A run: %.3f ± %.3f s CPU (95 %% of %" PRIu32 " runs, from %.3f to %.3f s)\n", runs.mean,
               pt_mean_margin(&runs), runs.count, runs.least, runs.most);
}

void pt_report_what_ran(const struct pt_report *report)
{
    PT_AUTO_BUFFER text = {0};
    print_typed(report);
    append_times(&text, report);
    pt_buffer_text(&text, "; ");
    append_processes(&text, report);
    pt_buffer_text(&text, ", ");
    append_versions(&text, report->profile);
    pt_print_text(stdout, text.data, 0, PT_STYLE_PLAIN);
    print_runs(report);
    print_selected(report);
}

void pt_report_header(const struct pt_report *report)
{
    PT_AUTO_BUFFER processes = {0}, versions = {0}, times = {0};
    uint64_t threads = report->sum.threads + report->sum.exited_threads;
    append_versions(&versions, report->profile);
    append_processes(&processes, report);
    append_times(&times, report);
    print_typed(report);
    pt_print_paragraph(0, 2, "%s, %" PRIu64 " thread%s, %s: %" PRIu64 " sample%s", processes.data, threads,
                       pt_plural(threads, "s"), versions.data, report->sum.samples,
                       pt_plural(report->sum.samples, "s"));
    puts(times.data);
    print_runs(report);
    print_selected(report);
    pt_report_code(report);
    print_states(report);
}
