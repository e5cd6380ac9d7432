/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../../preload/common/label_kinds.h"

#define NS      UINT64_C(1000000000)
#define KEEP_NS (60 * NS) /* younger samples have their time when the reader begins again */
#define READ_NS (2 * NS)  /* at one time: requests wait meanwhile */
#define BUSY_NS (2 * NS)  /* over which `cores` is computed at least */
#define SPARE   (1u << 20)
#define OTHERS  "(others)"
#define NONE    "(none)"

static void begin(struct pt_counters *counters)
{
    counters->follow = pt_follow_new(&counters->request, KEEP_NS);
    counters->follow->own_only = true;
    counters->follow->since_unix_ns = pt_clock_ns(CLOCK_REALTIME) - KEEP_NS;
    counters->weight = 0;
    counters->begins++;
}

void pt_counters_begin(struct pt_counters *counters, const char *directory, uint64_t spare)
{
    counters->directory = pt_strdup(directory);
    counters->request = (struct pt_load_request){.paths = &counters->directory, .path_count = 1, .all = true};
    counters->spare = spare ? spare : SPARE;
    counters->began_unix_ns = pt_clock_ns(CLOCK_REALTIME);
    begin(counters);
}

static void free_processes(struct pt_counted_process *processes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(processes[i].instance);
    free(processes);
}

void pt_counters_free(struct pt_counters *counters)
{
    if (counters->follow)
        pt_follow_free(counters->follow);
    free_processes(counters->processes.items, counters->processes.count);
    free_processes(counters->earlier, counters->earlier_count);
    for (uint32_t i = 0; i < counters->endpoints.count; i++) {
        free(counters->endpoints.items[i].service);
        free(counters->endpoints.items[i].endpoint);
    }
    PT_FREE_TABLE(&counters->endpoints);
    free(counters->directory);
    *counters = (struct pt_counters){0};
}

/* Returns the sums of a process since its start, also where files of it are gone. */
static struct pt_counted sums_of(const struct pt_process *process)
{
    const struct pt_accounting *sum = &process->accounting;
    uint64_t latest = 0;
    for (uint32_t i = 0; i < process->parts.count; i++) {
        const struct pt_part *part = &process->parts.items[i];
        if (part->has_last && part->number >= latest) {
            latest = part->number;
            sum = &part->last;
        }
    }
    return (struct pt_counted){sum->cpu_ns,  sum->samples,      sum->lost_samples,
                               sum->lost_ns, sum->unsampled_ns, sum->own_ns};
}

static void count_up(uint64_t *sum, uint64_t *last, uint64_t now)
{
    *sum += now > *last ? now - *last : 0;
    *last = now > *last ? now : *last;
}

static struct pt_counted_process *process_at(struct pt_counters *counters, uint32_t number)
{
    const struct pt_profile *profile = counters->follow->profile;
    while (counters->processes.count <= number) {
        const char *instance = pt_string(profile, profile->processes.items[counters->processes.count].instance);
        struct pt_counted_process *process = PT_APPEND(&counters->processes);
        *process = (struct pt_counted_process){.until_unix_ns = counters->began_unix_ns};
        for (uint32_t i = 0; i < counters->earlier_count; i++)
            if (counters->earlier[i].instance && strcmp(counters->earlier[i].instance, instance) == 0) {
                *process = counters->earlier[i];
                counters->earlier[i].instance = NULL;
            }
        if (!process->instance)
            process->instance = pt_strdup(instance);
    }
    return &counters->processes.items[number];
}

static void count_processes(struct pt_counters *counters)
{
    const struct pt_profile *profile = counters->follow->profile;
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *from = &profile->processes.items[i];
        struct pt_counted_process *process = process_at(counters, i);
        struct pt_counted now = sums_of(from), *last = &process->last, *sum = &counters->sum;
        count_up(&sum->cpu_ns, &last->cpu_ns, now.cpu_ns);
        count_up(&sum->samples, &last->samples, now.samples);
        count_up(&sum->lost_samples, &last->lost_samples, now.lost_samples);
        count_up(&sum->lost_ns, &last->lost_ns, now.lost_ns);
        count_up(&sum->unsampled_ns, &last->unsampled_ns, now.unsampled_ns);
        count_up(&sum->own_ns, &last->own_ns, now.own_ns);
        if (!process->busy_unix_ns) {
            process->busy_unix_ns = from->start_unix_ns;
        }
        if (from->end_unix_ns > process->busy_unix_ns + BUSY_NS) {
            process->cores =
                (double)(last->cpu_ns - process->busy_ns) / (double)(from->end_unix_ns - process->busy_unix_ns);
            process->busy_ns = last->cpu_ns;
            process->busy_unix_ns = from->end_unix_ns;
        }
    }
}

static struct pt_counted_endpoint *endpoint_of(struct pt_counters *counters, const char *service, const char *endpoint)
{
    for (uint32_t i = 0; i < counters->endpoints.count; i++) {
        struct pt_counted_endpoint *at = &counters->endpoints.items[i];
        if (strcmp(at->endpoint, endpoint) == 0 && strcmp(at->service, service) == 0)
            return at;
    }
    if (counters->endpoints.count >= PT_MOST_ENDPOINTS && strcmp(endpoint, OTHERS) != 0)
        return endpoint_of(counters, "", OTHERS);
    struct pt_counted_endpoint *added = PT_APPEND(&counters->endpoints);
    *added = (struct pt_counted_endpoint){.service = pt_strdup(service), .endpoint = pt_strdup(endpoint)};
    return added;
}

/* Returns the endpoint of a label set, NULL for none. */
static const char *endpoint_in(const struct pt_profile *profile, uint32_t labels)
{
    const struct pt_label_set *set = &profile->label_sets.items[labels];
    for (uint32_t i = 0; i < set->count; i++) {
        const struct pt_label *label = &profile->labels.items[set->first + i];
        if (strcmp(pt_string(profile, label->key), PP_KEY_ENDPOINT) == 0)
            return pt_string(profile, label->value);
    }
    return NULL;
}

/* Returns the sums of the endpoint, if the interval is not counted yet; NULL if it is. */
static struct pt_counted_endpoint *to_count(struct pt_counters *counters, uint32_t process, uint32_t interval,
                                            const char *endpoint)
{
    const struct pt_profile *profile = counters->follow->profile;
    const struct pt_interval *when = &profile->intervals.items[interval];
    if (!interval || when->start_unix_ns + when->wall_ns / 2 < process_at(counters, process)->until_unix_ns)
        return NULL;
    return endpoint_of(counters, pt_string(profile, profile->processes.items[process].service),
                       endpoint ? endpoint : NONE);
}

static void count_endpoints(struct pt_counters *counters)
{
    struct pt_profile *profile = counters->follow->profile;
    uint32_t count;
    struct pt_sample *samples = pt_take_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_sample *sample = &samples[i];
        struct pt_counted_endpoint *to = sample->interval
                                             ? to_count(counters, profile->threads.items[sample->thread].process,
                                                        sample->interval, endpoint_in(profile, sample->labels))
                                             : NULL;
        if (!to)
            continue;
        to->cpu_ns += sample->cpu_ns;
        to->samples += sample->count;
    }
    free(samples);
    for (uint32_t i = 0; i < profile->requests.count; i++) {
        const struct pt_requests *from = &profile->requests.items[i];
        struct pt_counted_endpoint *to = to_count(counters, from->process, from->interval,
                                                  from->endpoint ? pt_string(profile, from->endpoint) : NULL);
        if (to)
            to->requests += from->sums.count;
    }
    profile->requests.count = 0;
    pt_index_free(&profile->requests.index);
    profile->intervals.count = 1; /* the time of item 0 is not read */
    pt_index_free(&profile->intervals.index);
}

static uint64_t weight_of(const struct pt_follow *follow)
{
    const struct pt_profile *profile = follow->profile;
    return profile->nodes.count + 4 * (uint64_t)profile->strings.count + 4 * (uint64_t)profile->threads.count +
           64 * (uint64_t)profile->processes.count + 32 * (uint64_t)follow->sources.count;
}

/* Lets the reader go, and begins with what still runs. */
static void begin_again(struct pt_counters *counters)
{
    const struct pt_profile *profile = counters->follow->profile;
    for (uint32_t i = 0; i < counters->processes.count; i++)
        if (profile->processes.items[i].end_unix_ns > counters->processes.items[i].until_unix_ns)
            counters->processes.items[i].until_unix_ns = profile->processes.items[i].end_unix_ns;
    free_processes(counters->earlier, counters->earlier_count);
    counters->earlier = counters->processes.items;
    counters->earlier_count = counters->processes.count;
    counters->processes.items = NULL;
    counters->processes.count = counters->processes.capacity = 0;
    pt_follow_free(counters->follow);
    begin(counters);
}

static void add_file(void *data, const char *path)
{
    struct pt_counters *counters = data;
    struct stat status;
    if (stat(path, &status) != 0)
        return;
    counters->disk_bytes += (uint64_t)status.st_blocks * 512;
    counters->disk_files++;
}

void pt_counters_read(struct pt_counters *counters)
{
    uint64_t now_ns = pt_clock_ns(CLOCK_MONOTONIC);
    if (counters->read_ns && now_ns < counters->read_ns + NS)
        return;
    bool complete = pt_follow_read(counters->follow, counters->read_ns ? READ_NS : UINT64_MAX);
    counters->read_ns = now_ns;
    counters->now_unix_ns = pt_clock_ns(CLOCK_REALTIME);
    count_processes(counters);
    count_endpoints(counters);
    counters->disk_bytes = counters->disk_files = 0;
    pt_each_log(counters->directory, add_file, counters);
    if (complete && !counters->weight)
        counters->weight = weight_of(counters->follow);
    if (complete && weight_of(counters->follow) > 2 * counters->weight + counters->spare)
        begin_again(counters);
}
