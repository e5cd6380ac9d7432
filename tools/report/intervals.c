#include "intervals.h"

#include <inttypes.h>
#include <stdio.h>

#include "../base/print.h"

/* What the process has used in an interval: usage is a running sum from 0 on. */
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

void pt_json_intervals(struct pt_json *json, const struct pt_process *process)
{
    pt_json_begin(json, "intervals", '[');
    for (uint32_t i = 0; i < process->usage.count; i++) {
        struct pt_usage used = used_in(process, i);
        pt_json_begin(json, NULL, '{');
        pt_json_number(json, "end_unix_ns", used.end_unix_ns);
        pt_json_number(json, "wall_ns", used.wall_ns);
        pt_json_number(json, "cpu_ns", used.cpu_ns);
        pt_json_number(json, "samples", used.samples);
        pt_json_number(json, "voluntary_switches", used.voluntary_switches);
        pt_json_number(json, "involuntary_switches", used.involuntary_switches);
        pt_json_number(json, "minor_faults", used.minor_faults);
        pt_json_number(json, "major_faults", used.major_faults);
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
}

void pt_intervals_print(const struct pt_process *process)
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
