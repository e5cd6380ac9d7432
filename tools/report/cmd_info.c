#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/print.h"
#include "../cli/commands.h"
#include "../profile/load.h"
#include "../view/gil_gc.h"
#include "../view/summary.h"
#include "intervals.h"
#include "sums_json.h"

/* Of the JSON; raised when a field changes its meaning or goes away. */
#define JSON_VERSION 1

#define INDENTATION 4

#define MEDIAN 0.50
#define TAIL   0.99

static void add_text(void *array, const char *text)
{
    json_array_append_new(array, json_string(text));
}

static json_t *process_object(struct pt_profile *profile, uint32_t number)
{
    json_t *versions = pt_versions_json(profile, number);
    const struct pt_process *process = &profile->processes.items[number];
    json_t *object = json_object();
    json_object_set_new(object, "run", pt_string_json(profile, process->run));
    pt_set_number(object, "pid", process->pid);
    pt_set_number(object, "ppid", process->ppid);
    json_object_set_new(object, "host", pt_string_json(profile, process->host));
    json_object_set_new(object, "python_version", pt_string_json(profile, process->python_version));
    json_object_set_new(object, "python_versions", versions);
    json_object_set_new(object, "unwind",
                        json_string(process->unwinder ? pt_string(profile, process->unwinder) : "rows"));
    json_object_set_new(object, "cmdline", pt_string_json(profile, process->command_line));
    pt_set_number(object, "start_unix_ns", process->start_unix_ns);
    pt_set_number(object, "end_unix_ns", process->end_unix_ns);
    pt_set_number(object, "period_ns", process->period_ns);
    pt_set_number(object, "cpus", process->cpus);
    pt_set_number(object, "segments", process->segments);
    json_object_set_new(object, "ended", json_boolean(process->ended));
    pt_set_sums(object, profile, number);
    json_t *notes = json_array();
    pt_summary_notes(profile, number, add_text, notes);
    json_object_set_new(object, "notes", notes);
    if (profile->keep_usage)
        json_object_set_new(object, "intervals", pt_intervals_json(process));
    return object;
}

static int print_json(struct pt_profile *profile)
{
    json_t *root = json_object(), *total = json_object(), *processes = json_array();
    uint64_t start, end;
    pt_summary_span(profile, &start, &end);
    json_object_set_new(root, "version", json_integer(JSON_VERSION));
    pt_set_number(total, "processes", profile->processes.count);
    pt_set_number(total, "start_unix_ns", start);
    pt_set_number(total, "end_unix_ns", end);
    json_object_set_new(total, "python_versions", pt_versions_json(profile, PT_NONE));
    pt_set_sums(total, profile, PT_NONE);
    const struct pt_read_losses *losses = &profile->losses;
    json_t *log = json_object();
    pt_set_number(log, "truncated_bytes", losses->truncated_bytes);
    pt_set_number(log, "damaged_blocks", losses->damaged_blocks);
    pt_set_number(log, "damaged_records", losses->damaged_records);
    pt_set_number(log, "missing_blocks", losses->missing_blocks);
    pt_set_number(log, "unknown_blocks", losses->unknown_blocks);
    json_object_set_new(total, "log", log);
    json_object_set_new(root, "total", total);
    for (uint32_t i = 0; i < profile->processes.count; i++)
        json_array_append_new(processes, process_object(profile, i));
    json_object_set_new(root, "processes", processes);
    int failed = json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
    return failed;
}

static void __attribute__((format(printf, 1, 2))) print_line(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    printf("%*s", INDENTATION, "");
    pt_print_paragraph(INDENTATION, 2 * INDENTATION, "%s", text);
    free(text);
}

static void print_warning(void *context, const char *text)
{
    (void)context;
    print_line("warning: %s", text);
}

static void print_note(void *context, const char *text)
{
    (void)context;
    print_line("note: %s", text);
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void print_sums(const struct pt_profile *profile, uint32_t process)
{
    struct pt_accounting sum = pt_summary_accounting(profile, process);
    print_line("cpu %.3f s = sampled %.3f + unsampled %.3f + lost %.3f + own %.3f + thread exit %.3f + difference "
               "%.6f",
               seconds(sum.cpu_ns), seconds(sum.sampled_ns), seconds(sum.unsampled_ns), seconds(sum.lost_ns),
               seconds(sum.own_ns), seconds(sum.thread_exit_ns), (double)sum.difference_ns / 1e9);
    print_line("samples %" PRIu64 " (lost %" PRIu64 "), threads %" PRIu64 " alive + %" PRIu64
               " ended, cpu before the start %.3f s",
               sum.samples, sum.lost_samples, sum.threads, sum.exited_threads, seconds(sum.before_start_ns));
    print_line("context switches %" PRIu64 " by itself + %" PRIu64 " by others, page faults %" PRIu64 " + %" PRIu64
               " from disk",
               sum.voluntary_switches, sum.involuntary_switches, sum.minor_faults, sum.major_faults);
    if (sum.mapped_bytes)
        print_line("the library's own data: %.1f MB mapped, %.1f MB at most", (double)sum.mapped_bytes / 1e6,
                   (double)sum.most_mapped_bytes / 1e6);
    if (sum.removed_files)
        print_line("removed %" PRIu64 " old profiles of %.1f MB to stay below PYPROF_MAX_DISK", sum.removed_files,
                   (double)sum.removed_bytes / 1e6);
    struct pt_states states = pt_states_of(profile, process);
    if (states.gil_known_ns)
        print_line("GIL held %.3f s of %.3f s where that is known", seconds(states.gil_ns),
                   seconds(states.gil_known_ns));
    if (states.gc_known_ns)
        print_line("garbage collection %.3f s of %.3f s where that is known", seconds(states.gc_ns),
                   seconds(states.gc_known_ns));
    print_line("handler: mean %" PRIu64 " ns, p50 %" PRIu64 " ns, p99 %" PRIu64 " ns, max %" PRIu64 " ns",
               pt_accounting_handler_mean(&sum), pt_accounting_handler_quantile(&sum, MEDIAN),
               pt_accounting_handler_quantile(&sum, TAIL), sum.handler_max_ns);
    for (uint32_t i = PP_REASON_NONE + 1; i < PP_REASON_COUNT; i++)
        if (sum.reasons[i])
            print_line("%s: %" PRIu64, pt_reason_text(i), sum.reasons[i]);
    pt_summary_warnings(profile, process, print_warning, NULL);
}

static void print_text(const struct pt_profile *profile)
{
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *process = &profile->processes.items[i];
        int used = printf("process %" PRIu64 ": ", process->pid);
        pt_print_text(stdout, pt_string(profile, process->command_line), (uint32_t)used, PT_STYLE_PLAIN);
        print_line("run %s, Python %s, parent %" PRIu64 ", host %s, %.3f s wall, %s", pt_string(profile, process->run),
                   process->python_version ? pt_string(profile, process->python_version) : "not found", process->ppid,
                   pt_string(profile, process->host), seconds(process->accounting.wall_ns),
                   process->ended ? "ended" : "running or killed");
        if (process->unwinder)
            print_line("native stacks by %s", pt_string(profile, process->unwinder));
        print_sums(profile, i);
        pt_summary_notes(profile, i, print_note, NULL);
        if (profile->keep_usage)
            pt_intervals_print(process);
    }
    if (profile->processes.count == 1)
        return;
    printf("total of %u processes\n", profile->processes.count);
    print_sums(profile, PT_NONE);
}

int pt_cmd_info(const struct pt_cli *cli)
{
    struct pt_cli sums = *cli;
    sums.no_names = sums.stacks_only = true;
    struct pt_profile *profile = pt_load(&sums);
    if (!profile)
        return PT_EXIT_DATA;
    int failed = 0;
    if (cli->json)
        failed = print_json(profile);
    else
        print_text(profile);
    pt_profile_free(profile);
    return failed ? PT_EXIT_DATA : PT_EXIT_OK;
}
