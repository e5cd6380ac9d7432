#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/output.h"
#include "../base/print.h"
#include "../cli/commands.h"
#include "../load/files.h"
#include "../load/load.h"
#include "../profile/gil_gc.h"
#include "../view/summary.h"
#include "report.h"

#define TOP                  20
#define NS_PER_SECOND        1e9
#define SHOWN                0.0005 /* seconds: half of the last decimal */
#define STATES_KNOWN_PERCENT 90.0   /* of the CPU time, below which it is mentioned */
#define ESTIMATED_PERCENT    0.5    /* of the CPU time, from which on it is mentioned */

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

static void print_header(const struct pt_report *report)
{
    struct pt_profile *profile = report->profile;
    struct pt_buffer versions = {0};
    uint64_t start, end;
    pt_profile_span(profile, &start, &end);
    append_versions(&versions, profile);
    double wall = end > start ? pt_seconds(end - start) : 0, cpu = pt_seconds(report->whole_ns);
    uint64_t threads = report->sum.threads + report->sum.exited_threads, cpus = pt_summary_cpus(profile);
    pt_print_text(stdout, pt_string(profile, pt_summary_first_process(profile)->command_line), 0, PT_STYLE_HEADING);
    pt_print_paragraph(0, 2, "%u process%s, %" PRIu64 " thread%s, %s: %" PRIu64 " sample%s", profile->processes.count,
                       pt_plural(profile->processes.count, "es"), threads, pt_plural(threads, "s"), versions.data,
                       report->sum.samples, pt_plural(report->sum.samples, "s"));
    printf("%.2f s CPU in %.2f s", cpu, wall);
    if (wall > 0 && cpus)
        printf(", %.2f of %" PRIu64 " cores busy", cpu / wall, cpus);
    else if (wall > 0)
        printf(", %.2f cores busy", cpu / wall);
    putchar('\n');
    pt_buffer_free(&versions);
}

static void print_native(const struct pt_report *report)
{
    struct pt_report_native native = pt_report_native(report->profile);
    if (!native.interpreter_ns && !native.library_ns)
        return;
    printf("Native code %.1f %% of the CPU time: the interpreter %.1f %%, libraries %.1f %%\n",
           pt_percent(native.interpreter_ns + native.library_ns, report->whole_ns),
           pt_percent(native.interpreter_ns, report->whole_ns), pt_percent(native.library_ns, report->whole_ns));
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

static void print_warning(void *context, const char *text)
{
    (void)context;
    pt_print_styled(stdout, PT_STYLE_WARNING, "Warning");
    pt_print_paragraph((uint32_t)strlen("Warning"), 2, ": %s.", text);
}

/* Accounting, what is not complete and why, warnings. */
static void print_accounting(const struct pt_report *report)
{
    const struct pt_accounting *sum = &report->sum;
    double difference = (double)sum->difference_ns / NS_PER_SECOND;
    if (difference > -SHOWN && difference < SHOWN)
        difference = 0; /* never "-0.000" */
    printf("\nAccounting%s: sampled %.3f + unsampled %.3f + lost %.3f + own %.3f\n"
           "  + thread exit %.3f + difference %.3f = %.3f s CPU\n",
           report->profile->selected ? " of all" : "", pt_seconds(sum->sampled_ns), pt_seconds(sum->unsampled_ns),
           pt_seconds(sum->lost_ns), pt_seconds(sum->own_ns), pt_seconds(sum->thread_exit_ns), difference,
           pt_seconds(sum->cpu_ns));
    if (pt_percent(sum->estimated_ns, sum->cpu_ns) > ESTIMATED_PERCENT)
        printf("  of what was sampled, %.3f s are an estimate: short threads mostly end\n"
               "  between two ticks of the kernel, so their time goes to stacks that were\n"
               "  seen in threads like them\n",
               pt_seconds(sum->estimated_ns));
    for (uint32_t i = PP_REASON_NONE + 1; i < PP_REASON_COUNT; i++) {
        if (!sum->reasons[i])
            continue;
        printf("  %s: %" PRIu64, pt_reason_text(i), sum->reasons[i]);
        if (i < PP_REASON_LOST_RING_FULL) /* from there on it is not samples that are counted */
            printf(" (%.2f %% of samples)", pt_percent(sum->reasons[i], sum->samples));
        putchar('\n');
    }
    uint32_t not_ended = 0;
    for (uint32_t i = 0; i < report->profile->processes.count; i++)
        not_ended += !report->profile->processes.items[i].ended;
    if (not_ended)
        printf("  still running or killed: %u of %u process%s (what they did after their\n"
               "  last flush is not here)\n",
               not_ended, report->profile->processes.count, pt_plural(report->profile->processes.count, "es"));
    pt_summary_warnings(report->profile, PT_NONE, print_warning, NULL);
}

/* Prints a command with the paths and runs of this report, so that it can be typed as it is. */
static void print_command(const struct pt_cli *cli, const char *before, const char *command, const char *purpose)
{
    struct pt_buffer line = {0};
    pt_buffer_text(&line, command);
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
    char *directory = cli->argument_count ? NULL : pt_directory_to_name(NULL);
    if (directory) {
        pt_buffer_text(&line, " ");
        pt_append_argument(&line, directory);
    }
    free(directory);
    fputs(before, stdout);
    pt_print_styled(stdout, PT_STYLE_HEADING, "%s", line.data);
    printf("   (%s)\n", purpose);
    pt_buffer_free(&line);
}

static void print_next(const struct pt_cli *cli)
{
    print_command(cli, "\nNext: ", "pyprof flame -o profile.html", "a flame graph for the browser");
    print_command(cli, "      ", "pyprof export -o profile.pb.gz", "for go tool pprof, Pyroscope, Parca");
}

static void print_tables(const struct pt_report *report)
{
    if (report->cli->processes || report->cli->threads)
        pt_report_split(report, report->cli->threads);
    else
        pt_report_functions(report, PT_NONE, PT_NONE);
    pt_report_lines(report);
    pt_report_nameless(report);
    pt_report_threads(report);
}

int pt_cmd_report(const struct pt_cli *cli)
{
    struct pt_load_request request = cli->request;
    request.keep = cli->processes || cli->threads ? PT_KEEP_SAMPLES : PT_KEEP_STACKS;
    struct pt_profile *profile = pt_load(&request);
    if (!profile)
        return PT_EXIT_DATA;
    struct pt_report report = {.profile = profile, .cli = cli, .top = cli->top ? cli->top : TOP};
    report.sum = pt_summary_accounting(profile, PT_NONE);
    uint64_t found_ns = pt_profile_cpu_ns(profile);
    report.whole_ns = report.sum.cpu_ns > found_ns ? report.sum.cpu_ns : found_ns;
    if (cli->json) {
        report.whole_ns = profile->selected ? found_ns : report.whole_ns;
        bool written = pt_report_json(&report);
        pt_profile_free(profile);
        return written ? PT_EXIT_OK : PT_EXIT_DATA;
    }
    print_header(&report);
    if (profile->selected) {
        printf("Selected: %.2f s of %.2f s CPU; shares are of what is selected\n", pt_seconds(found_ns),
               pt_seconds(profile->whole_ns));
        report.whole_ns = found_ns;
    }
    print_native(&report);
    print_states(&report);
    if (found_ns) {
        print_tables(&report);
        print_accounting(&report);
        print_next(cli);
    } else {
        puts("\nNothing was sampled: a program that waits uses no CPU time, and one that has\n"
             "just begun has not been seen yet.");
        print_accounting(&report);
    }
    pt_profile_free(profile);
    return PT_EXIT_OK;
}
