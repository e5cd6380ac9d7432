#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "profile/load.h"
#include "profile/states.h"
#include "profile/summary.h"
#include "report.h"

#define TOP                  20
#define NS_PER_SECOND        1e9
#define SHOWN                0.0005 /* seconds: half of the last decimal */
#define STATES_KNOWN_PERCENT 90.0   /* of the CPU time, below which it is mentioned */
#define ESTIMATED_PERCENT    0.5    /* of the CPU time, from which on it is mentioned */

static double seconds(uint64_t ns)
{
    return (double)ns / NS_PER_SECOND;
}

/* The Python versions in it, each once: "3.8.18, 3.11.2 and 3.13.0". */
static void append_versions(struct pp_buffer *text, struct pp_profile *profile)
{
    uint32_t count;
    uint32_t *versions = pp_summary_versions(profile, PP_NONE, &count);
    pp_buffer_text(text, count ? "Python " : "no Python");
    for (uint32_t i = 0; i < count; i++)
        pp_buffer_format(text, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", pp_string(profile, versions[i]));
    free(versions);
}

static void print_count(uint64_t count, const char *one, const char *many)
{
    printf("%" PRIu64 " %s", count, count == 1 ? one : many);
}

static void print_header(const struct pp_report *report)
{
    struct pp_profile *profile = report->profile;
    struct pp_buffer versions = {0};
    uint64_t start, end;
    pp_summary_span(profile, &start, &end);
    append_versions(&versions, profile);
    double wall = end > start ? seconds(end - start) : 0, cpu = seconds(report->whole_ns);
    printf("%s\n", pp_string(profile, pp_summary_first_process(profile)->command_line));
    print_count(profile->processes.count, "process", "processes");
    printf(", ");
    print_count(report->sum.threads + report->sum.exited_threads, "thread", "threads");
    printf(", %s: %.2f s CPU in %.2f s", versions.data, cpu, wall);
    uint64_t cpus = pp_summary_cpus(profile);
    if (wall > 0 && cpus)
        printf(" (%.2f of %" PRIu64 " cores busy)", cpu / wall, cpus);
    else if (wall > 0)
        printf(" (%.2f cores busy)", cpu / wall);
    printf(", %" PRIu64 " samples\n", report->sum.samples);
    pp_buffer_free(&versions);
}

/* What is not known is not said: it is not 0 %. */
static void print_states(const struct pp_report *report)
{
    struct pp_states states = pp_states_of(report->profile, PP_NONE, PP_NONE);
    uint64_t least = states.gil_known_ns;
    if (states.gil_known_ns)
        printf("GIL held %.1f %% of the CPU time", pp_percent(states.gil_ns, states.gil_known_ns));
    if (states.gc_known_ns) {
        printf("%s%.1f %%", states.gil_known_ns ? ", garbage collection " : "Garbage collection ",
               pp_percent(states.gc_ns, states.gc_known_ns));
        least = least && least < states.gc_known_ns ? least : states.gc_known_ns;
    }
    if (least && pp_percent(least, report->whole_ns) < STATES_KNOWN_PERCENT)
        printf(" (known for %.1f %% of it)", pp_percent(least, report->whole_ns));
    if (least)
        putchar('\n');
}

static void print_warning(void *context, const char *text)
{
    (void)context;
    printf("Warning: %s.\n", text);
}

void pp_report_accounting(const struct pp_report *report)
{
    const struct pp_accounting *sum = &report->sum;
    double difference = (double)sum->difference_ns / NS_PER_SECOND;
    if (difference > -SHOWN && difference < SHOWN)
        difference = 0; /* never "-0.000" */
    printf("\nAccounting%s: sampled %.3f + unsampled %.3f + lost %.3f + own %.3f + thread exit %.3f + difference %.3f"
           " = %.3f s CPU\n",
           report->profile->selected ? " of all" : "", seconds(sum->sampled_ns), seconds(sum->unsampled_ns),
           seconds(sum->lost_ns), seconds(sum->own_ns), seconds(sum->thread_exit_ns), difference, seconds(sum->cpu_ns));
    if (pp_percent(sum->estimated_ns, sum->cpu_ns) > ESTIMATED_PERCENT)
        printf(
            "  of what was sampled, %.3f s are an estimate: short threads mostly end between two ticks of the kernel,\n"
            "  so their time goes to stacks that were seen in threads like them\n",
            seconds(sum->estimated_ns));
    for (uint32_t i = PP_REASON_NONE + 1; i < PP_REASON_COUNT; i++) {
        if (!sum->reasons[i])
            continue;
        printf("  %s: %" PRIu64, pp_reason_text(i), sum->reasons[i]);
        if (i < PP_REASON_LOST_RING_FULL) /* from there on it is not samples that are counted */
            printf(" (%.2f %% of samples)", pp_percent(sum->reasons[i], sum->samples));
        putchar('\n');
    }
    uint32_t not_ended = 0;
    for (uint32_t i = 0; i < report->profile->processes.count; i++)
        not_ended += !report->profile->processes.items[i].ended;
    if (not_ended)
        printf("  still running or killed: %u of %u processes (what they did after their last flush is not here)\n",
               not_ended, report->profile->processes.count);
    pp_summary_warnings(report->profile, PP_NONE, print_warning, NULL);
}

/* An argument as a shell wants it. */
static void print_argument(const char *argument)
{
    if (argument[strcspn(argument, " \t\n'\"\\$&;|<>()*?[]#~`!")] == '\0') {
        printf(" %s", argument);
        return;
    }
    printf(" '");
    for (; *argument; argument++)
        if (*argument == '\'')
            printf("'\\''");
        else
            putchar(*argument);
    printf("'");
}

/* With the choice of this report, so that it can be typed as it is. */
static void print_command(const struct pp_cli *cli, const char *command, const char *purpose)
{
    fputs(command, stdout);
    if (cli->all)
        printf(" --all");
    if (cli->run) {
        printf(" --run");
        print_argument(cli->run);
    }
    for (int i = 0; i < cli->argument_count; i++)
        print_argument(cli->arguments[i]);
    printf("   (%s)\n", purpose);
}

static void print_next(const struct pp_cli *cli)
{
    print_command(cli, "\nNext: pyprof flame -o profile.html", "a flame graph for the browser");
    print_command(cli, "      pyprof export -o profile.pb.gz", "for go tool pprof, Pyroscope, Parca");
}

static void print_tables(const struct pp_report *report)
{
    if (report->cli->processes || report->cli->threads)
        pp_report_split(report, report->cli->threads);
    else
        pp_report_functions(report, PP_NONE, PP_NONE);
    pp_report_lines(report);
    pp_report_nameless(report);
    pp_report_threads(report);
}

int pp_cmd_report(const struct pp_cli *cli)
{
    struct pp_profile *profile = pp_load(cli);
    if (!profile)
        return PP_EXIT_DATA;
    struct pp_report report = {.profile = profile, .cli = cli, .top = cli->top ? cli->top : TOP};
    report.sum = pp_summary_accounting(profile, PP_NONE);
    uint64_t found_ns = pp_profile_cpu_ns(profile);
    report.whole_ns = report.sum.cpu_ns > found_ns ? report.sum.cpu_ns : found_ns;
    print_header(&report);
    if (profile->selected) {
        printf("Selected: %.2f s of %.2f s CPU; shares are of what is selected\n", seconds(found_ns),
               seconds(profile->whole_ns));
        report.whole_ns = found_ns;
    }
    print_states(&report);
    if (found_ns) {
        print_tables(&report);
        pp_report_accounting(&report);
        print_next(cli);
    } else {
        printf("\nNothing was sampled: a program that waits uses no CPU time, and one that has just begun has not been "
               "seen yet.\n");
        pp_report_accounting(&report);
    }
    pp_profile_free(profile);
    return PP_EXIT_OK;
}
