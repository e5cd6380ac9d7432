#include "intervals.h"

#include <inttypes.h>
#include <stdio.h>

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void set(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* What is more at the second than at the first: the sums begin at 0. */
static struct pt_usage used_between(const struct pt_usage *first, const struct pt_usage *second)
{
    return (struct pt_usage){
        .end_unix_ns = second->end_unix_ns,
        .wall_ns = second->wall_ns - first->wall_ns,
        .cpu_ns = second->cpu_ns - first->cpu_ns,
        .samples = second->samples - first->samples,
        .voluntary_switches = second->voluntary_switches - first->voluntary_switches,
        .involuntary_switches = second->involuntary_switches - first->involuntary_switches,
        .minor_faults = second->minor_faults - first->minor_faults,
        .major_faults = second->major_faults - first->major_faults,
    };
}

static struct pt_usage used_in(const struct pt_process *process, uint32_t interval)
{
    static const struct pt_usage nothing;
    const struct pt_usage *usage = process->usage.items;
    return used_between(interval ? &usage[interval - 1] : &nothing, &usage[interval]);
}

json_t *pt_intervals_json(const struct pt_process *process)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < process->usage.count; i++) {
        struct pt_usage used = used_in(process, i);
        json_t *object = json_object();
        set(object, "end_unix_ns", used.end_unix_ns);
        set(object, "wall_ns", used.wall_ns);
        set(object, "cpu_ns", used.cpu_ns);
        set(object, "samples", used.samples);
        set(object, "voluntary_switches", used.voluntary_switches);
        set(object, "involuntary_switches", used.involuntary_switches);
        set(object, "minor_faults", used.minor_faults);
        set(object, "major_faults", used.major_faults);
        json_array_append_new(array, object);
    }
    return array;
}

void pt_intervals_print(const struct pt_process *process)
{
    printf("%12s %10s %10s %7s %8s %10s %10s %10s %10s\n", "AFTER", "WALL", "CPU", "CORES", "SAMPLES", "SLEPT",
           "PUSHED OFF", "FAULTS", "FROM DISK");
    for (uint32_t i = 0; i < process->usage.count; i++) {
        struct pt_usage used = used_in(process, i);
        printf("%10.1f s %8.2f s %8.2f s %7.2f %8" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
               seconds(process->usage.items[i].wall_ns), seconds(used.wall_ns), seconds(used.cpu_ns),
               used.wall_ns ? (double)used.cpu_ns / (double)used.wall_ns : 0, used.samples, used.voluntary_switches,
               used.involuntary_switches, used.minor_faults, used.major_faults);
    }
}
