#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "intervals.h"
#include "profile/load.h"
#include "profile/states.h"
#include "profile/summary.h"

/* Of the JSON; raised when a field changes its meaning or goes away. */
#define JSON_VERSION 1

#define MEDIAN 0.50
#define TAIL   0.99

static void set_ns(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* null when nothing is known: that is not 0. */
static void set_known_ns(json_t *object, const char *key, uint64_t value, uint64_t known)
{
    json_object_set_new(object, key, known ? json_integer((json_int_t)value) : json_null());
}

static void add_text(void *array, const char *text)
{
    json_array_append_new(array, json_string(text));
}

static uint64_t handler_mean(const struct pp_accounting *sum)
{
    return sum->handler_count ? sum->handler_sum_ns / sum->handler_count : 0;
}

/* What processes and their total have in common. */
static void set_sums(json_t *object, const struct pp_profile *profile, uint32_t process)
{
    struct pp_accounting sum = pp_summary_accounting(profile, process);
    set_ns(object, "threads", sum.threads);
    set_ns(object, "exited_threads", sum.exited_threads);
    set_ns(object, "samples", sum.samples);
    set_ns(object, "wall_ns", sum.wall_ns);
    set_ns(object, "cpu_ns", sum.cpu_ns);
    set_ns(object, "sampled_ns", sum.sampled_ns);
    set_ns(object, "estimated_ns", sum.estimated_ns);
    set_ns(object, "unsampled_ns", sum.unsampled_ns);
    set_ns(object, "lost_samples", sum.lost_samples);
    set_ns(object, "lost_ns", sum.lost_ns);
    set_ns(object, "own_ns", sum.own_ns);
    set_ns(object, "thread_exit_ns", sum.thread_exit_ns);
    json_object_set_new(object, "difference_ns", json_integer(sum.difference_ns));
    set_ns(object, "before_start_ns", sum.before_start_ns);
    set_ns(object, "missing_ns", pp_summary_missing_ns(profile, process));
    set_ns(object, "removed_files", sum.removed_files);
    set_ns(object, "removed_bytes", sum.removed_bytes);
    set_ns(object, "mapped_bytes", sum.mapped_bytes);
    set_ns(object, "most_mapped_bytes", sum.most_mapped_bytes);
    set_ns(object, "voluntary_switches", sum.voluntary_switches);
    set_ns(object, "involuntary_switches", sum.involuntary_switches);
    set_ns(object, "minor_faults", sum.minor_faults);
    set_ns(object, "major_faults", sum.major_faults);

    struct pp_states states = pp_states_of(profile, process, PP_NONE);
    set_known_ns(object, "gil_ns", states.gil_ns, states.gil_known_ns);
    set_ns(object, "gil_known_ns", states.gil_known_ns);
    set_known_ns(object, "gc_ns", states.gc_ns, states.gc_known_ns);
    set_ns(object, "gc_known_ns", states.gc_known_ns);

    json_t *handler = json_object();
    set_ns(handler, "mean", handler_mean(&sum));
    set_ns(handler, "p50", pp_accounting_handler_quantile(&sum, MEDIAN));
    set_ns(handler, "p99", pp_accounting_handler_quantile(&sum, TAIL));
    set_ns(handler, "max", sum.handler_max_ns);
    json_object_set_new(object, "handler_ns", handler);

    json_t *truncated = json_object();
    for (uint32_t i = PP_REASON_NONE + 1; i < PP_REASON_COUNT; i++)
        if (sum.reasons[i])
            set_ns(truncated, pp_reason_text(i), sum.reasons[i]);
    json_object_set_new(object, "truncated", truncated);

    json_t *warnings = json_array();
    pp_summary_warnings(profile, process, add_text, warnings);
    json_object_set_new(object, "warnings", warnings);
}

static json_t *text(const struct pp_profile *profile, uint32_t string)
{
    return string ? json_string(pp_string(profile, string)) : json_null();
}

static json_t *versions_array(struct pp_profile *profile, uint32_t process)
{
    uint32_t count;
    uint32_t *versions = pp_summary_versions(profile, process, &count);
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(array, text(profile, versions[i]));
    free(versions);
    return array;
}

static json_t *process_object(struct pp_profile *profile, uint32_t number)
{
    json_t *versions = versions_array(profile, number);
    const struct pp_process *process = &profile->processes.items[number];
    json_t *object = json_object();
    json_object_set_new(object, "run", text(profile, process->run));
    set_ns(object, "pid", process->pid);
    set_ns(object, "ppid", process->ppid);
    json_object_set_new(object, "host", text(profile, process->host));
    json_object_set_new(object, "python_version", text(profile, process->python_version));
    json_object_set_new(object, "python_versions", versions);
    json_object_set_new(object, "unwind",
                        json_string(process->unwinder ? pp_string(profile, process->unwinder) : "rows"));
    json_object_set_new(object, "cmdline", text(profile, process->command_line));
    set_ns(object, "start_unix_ns", process->start_unix_ns);
    set_ns(object, "end_unix_ns", process->end_unix_ns);
    set_ns(object, "period_ns", process->period_ns);
    set_ns(object, "cpus", process->cpus);
    set_ns(object, "segments", process->segments);
    json_object_set_new(object, "ended", json_boolean(process->ended));
    set_sums(object, profile, number);
    json_t *notes = json_array();
    pp_summary_notes(profile, number, add_text, notes);
    json_object_set_new(object, "notes", notes);
    if (profile->keep_usage)
        json_object_set_new(object, "intervals", pp_intervals_json(process));
    return object;
}

static int print_json(struct pp_profile *profile)
{
    json_t *root = json_object(), *total = json_object(), *processes = json_array();
    uint64_t start, end;
    pp_summary_span(profile, &start, &end);
    json_object_set_new(root, "version", json_integer(JSON_VERSION));
    set_ns(total, "processes", profile->processes.count);
    set_ns(total, "start_unix_ns", start);
    set_ns(total, "end_unix_ns", end);
    json_object_set_new(total, "python_versions", versions_array(profile, PP_NONE));
    set_sums(total, profile, PP_NONE);
    const struct pp_read_losses *losses = &profile->losses;
    json_t *log = json_object();
    set_ns(log, "truncated_bytes", losses->truncated_bytes);
    set_ns(log, "damaged_blocks", losses->damaged_blocks);
    set_ns(log, "damaged_records", losses->damaged_records);
    set_ns(log, "missing_blocks", losses->missing_blocks);
    set_ns(log, "unknown_blocks", losses->unknown_blocks);
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

static void print_warning(void *context, const char *text)
{
    (void)context;
    printf("    warning: %s\n", text);
}

static void print_note(void *context, const char *text)
{
    (void)context;
    printf("    note: %s\n", text);
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void print_sums(const struct pp_profile *profile, uint32_t process)
{
    struct pp_accounting sum = pp_summary_accounting(profile, process);
    printf("    cpu %.3f s = sampled %.3f + unsampled %.3f + lost %.3f + own %.3f + thread exit %.3f + difference "
           "%.6f\n",
           seconds(sum.cpu_ns), seconds(sum.sampled_ns), seconds(sum.unsampled_ns), seconds(sum.lost_ns),
           seconds(sum.own_ns), seconds(sum.thread_exit_ns), (double)sum.difference_ns / 1e9);
    printf("    samples %" PRIu64 " (lost %" PRIu64 "), threads %" PRIu64 " alive + %" PRIu64
           " ended, cpu before the start %.3f s\n",
           sum.samples, sum.lost_samples, sum.threads, sum.exited_threads, seconds(sum.before_start_ns));
    printf("    context switches %" PRIu64 " by itself + %" PRIu64 " by others, page faults %" PRIu64 " + %" PRIu64
           " from disk\n",
           sum.voluntary_switches, sum.involuntary_switches, sum.minor_faults, sum.major_faults);
    if (sum.mapped_bytes)
        printf("    the library's own data: %.1f MB mapped, %.1f MB at most\n", (double)sum.mapped_bytes / 1e6,
               (double)sum.most_mapped_bytes / 1e6);
    if (sum.removed_files)
        printf("    removed %" PRIu64 " old profiles of %.1f MB to stay below PYPROF_MAX_DISK\n", sum.removed_files,
               (double)sum.removed_bytes / 1e6);
    struct pp_states states = pp_states_of(profile, process, PP_NONE);
    if (states.gil_known_ns)
        printf("    GIL held %.3f s of %.3f s where that is known\n", seconds(states.gil_ns),
               seconds(states.gil_known_ns));
    if (states.gc_known_ns)
        printf("    garbage collection %.3f s of %.3f s where that is known\n", seconds(states.gc_ns),
               seconds(states.gc_known_ns));
    printf("    handler: mean %" PRIu64 " ns, p50 %" PRIu64 " ns, p99 %" PRIu64 " ns, max %" PRIu64 " ns\n",
           handler_mean(&sum), pp_accounting_handler_quantile(&sum, MEDIAN), pp_accounting_handler_quantile(&sum, TAIL),
           sum.handler_max_ns);
    for (uint32_t i = PP_REASON_NONE + 1; i < PP_REASON_COUNT; i++)
        if (sum.reasons[i])
            printf("    %s: %" PRIu64 "\n", pp_reason_text(i), sum.reasons[i]);
    pp_summary_warnings(profile, process, print_warning, NULL);
}

static void print_text(const struct pp_profile *profile)
{
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pp_process *process = &profile->processes.items[i];
        printf("process %" PRIu64 ": %s\n", process->pid, pp_string(profile, process->command_line));
        printf("    run %s, Python %s, parent %" PRIu64 ", host %s, %.3f s wall, %s\n",
               pp_string(profile, process->run),
               process->python_version ? pp_string(profile, process->python_version) : "not found", process->ppid,
               pp_string(profile, process->host), seconds(process->accounting.wall_ns),
               process->ended ? "ended" : "running or killed");
        if (process->unwinder)
            printf("    native stacks by %s\n", pp_string(profile, process->unwinder));
        print_sums(profile, i);
        pp_summary_notes(profile, i, print_note, NULL);
        if (profile->keep_usage)
            pp_intervals_print(process);
    }
    if (profile->processes.count == 1)
        return;
    printf("total of %u processes\n", profile->processes.count);
    print_sums(profile, PP_NONE);
}

int pp_cmd_info(const struct pp_cli *cli)
{
    struct pp_cli sums = *cli;
    sums.no_names = true;
    struct pp_profile *profile = pp_load(&sums);
    if (!profile)
        return PP_EXIT_DATA;
    int failed = 0;
    if (cli->json)
        failed = print_json(profile);
    else
        print_text(profile);
    pp_profile_free(profile);
    return failed ? PP_EXIT_DATA : PP_EXIT_OK;
}
