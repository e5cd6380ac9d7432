/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/pager.h"
#include "../base/print.h"
#include "../cli/options.h"
#include "../load/load.h"
#include "../load/runs.h"
#include "../model/gil_gc.h"
#include "../view/summary.h"
#include "../view/trace_sources.h"
#include "sums_json.h"

#define INDENTATION 4

#define MEDIAN 0.50
#define TAIL   0.99

/* Returns what the process used in an interval: usage is a running sum from 0 on. */
static struct pt_usage used_in(const struct pt_process *process, uint32_t interval)
{
    static const struct pt_usage nothing;
    const struct pt_usage *before = interval ? &process->usage.items[interval - 1] : &nothing;
    struct pt_usage used = process->usage.items[interval];
    used.wall_ns -= before->wall_ns;
    used.cpu_ns -= before->cpu_ns;
    used.samples -= before->samples;
    used.voluntary_switches -= before->voluntary_switches;
    used.involuntary_switches -= before->involuntary_switches;
    used.minor_faults -= before->minor_faults;
    used.major_faults -= before->major_faults;
    return used;
}

static void put_intervals(struct pt_json *json, const struct pt_process *process)
{
#define USAGE(name) #name, offsetof(struct pt_usage, name)
    static const struct pt_json_field fields[] = {{USAGE(end_unix_ns)},
                                                  {USAGE(wall_ns)},
                                                  {USAGE(cpu_ns)},
                                                  {USAGE(samples)},
                                                  {USAGE(voluntary_switches)},
                                                  {USAGE(involuntary_switches)},
                                                  {USAGE(minor_faults)},
                                                  {USAGE(major_faults)}};
    pt_json_begin(json, "intervals", '[');
    for (uint32_t i = 0; i < process->usage.count; i++) {
        struct pt_usage used = used_in(process, i);
        pt_json_begin(json, NULL, '{');
        pt_json_fields(json, &used, fields, sizeof fields / sizeof fields[0]);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
}

static void put_process(struct pt_json *json, struct pt_profile *profile, uint32_t number)
{
    const struct pt_process *process = &profile->processes.items[number];
    pt_json_begin(json, NULL, '{');
    pt_json_string(json, "run", profile, process->run);
    pt_json_number(json, "pid", process->pid);
    pt_json_number(json, "ppid", process->ppid);
    pt_json_string(json, "host", profile, process->host);
    pt_json_string(json, "python_version", profile, process->python_version);
    pt_json_versions(json, profile, number);
    pt_json_text(json, "unwind", process->unwinder ? pt_string(profile, process->unwinder) : "rows");
    pt_json_text(json, "contexts", pt_string(profile, process->contexts));
    pt_json_string(json, "traces", profile, process->traces);
    pt_json_string(json, "service", profile, process->service);
    pt_json_text(json, "clock", process->clock ? pt_string(profile, process->clock) : "kernel ticks");
    pt_json_string(json, "cmdline", profile, process->command_line);
    pt_json_number(json, "start_unix_ns", process->start_unix_ns);
    pt_json_number(json, "end_unix_ns", process->end_unix_ns);
    pt_json_number(json, "period_ns", process->period_ns);
    pt_json_number(json, "cpus", process->cpus);
    pt_json_number(json, "segments", process->segments);
    pt_json_bool(json, "ended", process->ended);
    pt_json_sums(json, profile, number);
    pt_json_number(json, "children_ns", process->accounting.children_ns);
    pt_json_begin(json, "notes", '[');
    pt_summary_notes(profile, number, pt_json_element, json);
    pt_json_end(json, ']');
    if (profile->request->usage)
        put_intervals(json, process);
    pt_json_end(json, '}');
}

static bool print_json(struct pt_profile *profile)
{
    struct pt_json json = pt_json_document(stdout);
    const struct pt_read_losses *losses = &profile->losses;
    uint64_t start, end;
    pt_profile_span(profile, &start, &end);
    pt_json_begin(&json, "total", '{');
    pt_json_number(&json, "processes", profile->processes.count);
    pt_json_number(&json, "start_unix_ns", start);
    pt_json_number(&json, "end_unix_ns", end);
    pt_json_versions(&json, profile, PT_NONE);
    pt_json_number(&json, "traces", profile->traces.count);
    pt_json_sums(&json, profile, PT_NONE);
    pt_json_begin(&json, "log", '{');
    pt_json_number(&json, "truncated_bytes", losses->truncated_bytes);
    pt_json_number(&json, "damaged_blocks", losses->damaged_blocks);
    pt_json_number(&json, "damaged_records", losses->damaged_records);
    pt_json_number(&json, "missing_blocks", losses->missing_blocks);
    pt_json_number(&json, "unknown_blocks", losses->unknown_blocks);
    pt_json_end(&json, '}');
    pt_json_end(&json, '}');
    pt_json_begin(&json, "processes", '[');
    for (uint32_t i = 0; i < profile->processes.count; i++)
        put_process(&json, profile, i);
    pt_json_end(&json, ']');
    return pt_json_end_document(&json);
}

#define print_line(...) (printf("%*s", INDENTATION, ""), pt_print_paragraph(INDENTATION, 2 * INDENTATION, __VA_ARGS__))

static void print_remark(void *kind, const char *text)
{
    print_line("%s: %s", (const char *)kind, text);
}

/* The sums of a process that has ended still have the threads that it ended with. */
static uint64_t live_threads(const struct pt_profile *profile, uint32_t process)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++)
        if ((process == PT_NONE || i == process) && !profile->processes.items[i].ended)
            sum += profile->processes.items[i].accounting.threads;
    return sum;
}

static void print_sums(const struct pt_profile *profile, uint32_t process)
{
    struct pt_accounting sum = pt_summary_accounting(profile, process);
    print_line("cpu %.3f s = sampled %.3f + unsampled %.3f + lost %.3f + own %.3f + thread exit %.3f + difference "
               "%.6f",
               pt_seconds(sum.cpu_ns), pt_seconds(sum.sampled_ns), pt_seconds(sum.unsampled_ns),
               pt_seconds(sum.lost_ns), pt_seconds(sum.own_ns), pt_seconds(sum.thread_exit_ns),
               (double)sum.difference_ns / 1e9);
    print_line("samples %" PRIu64 " (lost %" PRIu64 "), threads %" PRIu64 " (%" PRIu64
               " alive), CPU before the start %.3f s",
               sum.samples, sum.lost_samples, sum.threads + sum.exited_threads, live_threads(profile, process),
               pt_seconds(sum.before_start_ns));
    if (sum.children_ns && process != PT_NONE)
        print_line("ended children, profiled or not: %.3f s CPU", pt_seconds(sum.children_ns));
    uint64_t billed_ns = pt_summary_billed_ns(profile);
    if (billed_ns && (process == PT_NONE || profile->processes.count == 1))
        print_line("the kernel billed the whole run at least %.3f s", pt_seconds(billed_ns));
    if (sum.not_selected)
        print_line("not selected %.3f s in %" PRIu64
                   " samples: of traces that PYPROF_TRACES left out, and outside of traces",
                   pt_seconds(sum.not_selected_ns), sum.not_selected);
    if (sum.other_labels_ns)
        print_line("%" PRIu64 " samples of %.3f s have a label (other): more than 1,000 combinations of labels",
                   sum.other_labels, pt_seconds(sum.other_labels_ns));
    print_line("context switches %" PRIu64 " by itself + %" PRIu64 " by others, page faults %" PRIu64 " + %" PRIu64
               " from disk",
               sum.voluntary_switches, sum.involuntary_switches, sum.minor_faults, sum.major_faults);
    if (sum.mapped_bytes)
        print_line("the library's own data: %.1f MB mapped, %.1f MB at most", (double)sum.mapped_bytes / 1e6,
                   (double)sum.most_mapped_bytes / 1e6);
    if (sum.removed_files)
        print_line("removed %" PRIu64 " old profile%s of %.1f MB to stay below PYPROF_MAX_DISK", sum.removed_files,
                   pt_plural(sum.removed_files, "s"), (double)sum.removed_bytes / 1e6);
    struct pt_states states = pt_states_of(profile, process);
    if (states.gil_known_ns)
        print_line("GIL held %.3f s of %.3f s where that is known", pt_seconds(states.gil_ns),
                   pt_seconds(states.gil_known_ns));
    if (states.gc_known_ns)
        print_line("garbage collection %.3f s of %.3f s where that is known", pt_seconds(states.gc_ns),
                   pt_seconds(states.gc_known_ns));
    print_line("handler: mean %" PRIu64 " ns, p50 %" PRIu64 " ns, p99 %" PRIu64 " ns, max %" PRIu64 " ns",
               pt_accounting_handler_mean(&sum), pt_accounting_handler_quantile(&sum, MEDIAN),
               pt_accounting_handler_quantile(&sum, TAIL), sum.handler_max_ns);
    for (uint32_t i = PP_REASON_NONE + 1; i < PP_REASON_COUNT; i++)
        if (sum.reasons[i])
            print_line("%s: %" PRIu64, pt_reason_text(i), sum.reasons[i]);
    pt_summary_warnings(profile, process, print_remark, "warning");
}

static void print_context(void *data, bool read, const char *text)
{
    (void)data;
    print_line(read ? "samples belong to %s" : "but not to %s", text);
}

static void print_intervals(const struct pt_process *process)
{
    printf("%12s %10s %10s %7s %8s %10s %10s %10s %10s\n", "AFTER", "WALL", "CPU", "CORES", "SAMPLES", "SLEPT",
           "PUSHED OFF", "FAULTS", "FROM DISK");
    for (uint32_t i = 0; i < process->usage.count; i++) {
        struct pt_usage used = used_in(process, i);
        printf("%10.1f s %8.2f s %8.2f s %7.2f %8" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
               pt_seconds(process->usage.items[i].wall_ns), pt_seconds(used.wall_ns), pt_seconds(used.cpu_ns),
               used.wall_ns ? (double)used.cpu_ns / (double)used.wall_ns : 0, used.samples, used.voluntary_switches,
               used.involuntary_switches, used.minor_faults, used.major_faults);
    }
}

static const char *state_of(const struct pt_profile *profile, uint32_t process)
{
    switch (pt_end_of(profile, process)) {
    case PT_END_ITSELF:
        return "ended";
    case PT_END_RUNNING:
        return "running";
    case PT_END_SIGNAL:
        return "ended by a signal";
    default:
        return "running or killed";
    }
}

static void print_text(const struct pt_profile *profile)
{
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *process = &profile->processes.items[i];
        int used = printf("process %" PRIu64 ": ", process->pid);
        pt_print_text(stdout, pt_string(profile, process->command_line), (uint32_t)used, PT_STYLE_PLAIN);
        print_line("run %s, Python %s, parent %" PRIu64 ", host %s, %.3f s wall, %s", pt_string(profile, process->run),
                   process->python_version ? pt_string(profile, process->python_version) : "not found", process->ppid,
                   pt_string(profile, process->host), pt_seconds(process->accounting.wall_ns), state_of(profile, i));
        if (process->unwinder)
            print_line("native stacks by %s", pt_string(profile, process->unwinder));
        print_line("sampled by %s; %.1f %% of the CPU time at ticks alone, in threads that wait often",
                   process->clock ? pt_string(profile, process->clock) : "kernel ticks",
                   pt_percent(process->accounting.uneven_ns, process->accounting.cpu_ns));
        pt_summary_contexts(profile, i, print_context, NULL);
        struct pt_buffer none = {0};
        pt_trace_sources_append(&none, profile, i, PT_NONE);
        if (none.length)
            print_line("%s", none.data);
        else if (profile->processes.items[i].traces)
            print_line("samples of traces are kept by PYPROF_TRACES=%s",
                       pt_string(profile, profile->processes.items[i].traces));
        pt_buffer_free(&none);
        print_sums(profile, i);
        pt_summary_notes(profile, i, print_remark, "note");
        if (profile->request->usage)
            print_intervals(process);
    }
    if (profile->processes.count == 1)
        return;
    printf("total of %u processes\n", profile->processes.count);
    print_sums(profile, PT_NONE);
}

int pt_cmd_info(const struct pt_cli *cli)
{
    struct pt_load_request request = cli->request;
    request.keep = PT_KEEP_STACKS;
    request.no_names = true;
    request.usage = cli->intervals;
    struct pt_profile *profile = pt_load(&request);
    if (!profile)
        return PT_EXIT_DATA;
    bool written = true;
    if (!cli->no_pager)
        pt_pager_start();
    if (cli->json)
        written = print_json(profile);
    else
        print_text(profile);
    pt_profile_free(profile);
    return written ? PT_EXIT_OK : PT_EXIT_DATA;
}
