/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../../preload/common/label_kinds.h"
#include "../load/growing_file.h"
#include "../model/frame_text.h"

#define RECENT_S 60
#define READ_NS  (2 * PT_SECOND) /* at one time: requests wait meanwhile */
#define BUSY_NS  (2 * PT_SECOND) /* over which `cores` is computed at least */
#define SPARE    (1u << 20)
#define OTHERS   "(others)"
#define NONE     "(none)"

/* Logs that nothing wrote to lately, of no process that runs, are left out until they grow. Names begin with the pid:
 * they are not opened. */
static bool begin_file(void *data, const struct stat *status, struct pt_growing_file *source)
{
    const struct pt_counters *counters = data;
    const struct pt_push_file *file =
        pt_push_state_find(&counters->places, pt_push_name(counters->directory, source->path));
    source->from = file ? file->base : 0;
    source->timed = !file;
    source->since_unix_ns = counters->since_unix_ns;
    if (file && file->inode != status->st_ino) /* compacted: it has nothing new */
        return false;
    return (uint64_t)status->st_mtim.tv_sec + RECENT_S > pt_clock_ns(CLOCK_REALTIME) / PT_SECOND ||
           pt_runs(strtoull(pt_base_name(source->path), NULL, 10));
}

static void count_endpoints(void *data);

static void begin(struct pt_counters *counters)
{
    counters->follow = pt_follow_new(&counters->request, 0);
    counters->follow->request.timed = false;
    counters->follow->request.whole = counters->follow->request.no_stacks = true;
    counters->follow->own_only = true;
    counters->follow->begin = begin_file;
    counters->follow->took = count_endpoints;
    counters->follow->data = counters;
    counters->begins++;
}

void pt_counters_begin(struct pt_counters *counters, const char *directory, uint64_t spare)
{
    counters->directory = pt_strdup(directory);
    counters->request = (struct pt_load_request){.paths = &counters->directory, .path_count = 1, .all = true};
    counters->spare = spare ? spare : SPARE;
    counters->began_unix_ns = counters->since_unix_ns = pt_clock_ns(CLOCK_REALTIME);
    begin(counters);
}

static bool same_instance(const void *processes, uint32_t number, const void *instance)
{
    return strcmp(((const struct pt_counted_process *)processes)[number].instance, instance) == 0;
}

static void free_earlier(struct pt_counters *counters)
{
    for (uint32_t i = 0; i < counters->earlier.count; i++)
        free(counters->earlier.items[i].instance);
    PT_FREE_TABLE(&counters->earlier);
}

void pt_counters_free(struct pt_counters *counters)
{
    if (counters->follow)
        pt_follow_free(counters->follow);
    for (uint32_t i = 0; i < counters->processes.count; i++)
        free(counters->processes.items[i].instance);
    PT_FREE_TABLE(&counters->processes);
    free_earlier(counters);
    pt_push_state_free(&counters->places);
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
    for (PT_EACH(const struct pt_part, part, &process->parts)) {
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
        uint32_t hash = pt_hash_bytes(instance, strlen(instance)),
                 earlier =
                     pt_index_find(&counters->earlier.index, hash, same_instance, counters->earlier.items, instance);
        const struct pt_process *from = &profile->processes.items[counters->processes.count];
        struct pt_counted_process process = {0};
        if (earlier != PT_NONE)
            process = counters->earlier.items[earlier];
        else if (from->start_unix_ns < counters->began_unix_ns) /* else Prometheus would add it up at each restart */
            process.last = sums_of(from);
        process.instance = pt_strdup(instance);
        pt_index_add(&counters->processes.index, hash, counters->processes.count);
        *PT_APPEND(&counters->processes) = process;
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
    for (PT_EACH(struct pt_counted_endpoint, at, &counters->endpoints))
        if (strcmp(at->endpoint, endpoint) == 0 && strcmp(at->service, service) == 0)
            return at;
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

/* Returns the sums of a process's endpoint. */
static struct pt_counted_endpoint *sums_for(struct pt_counters *counters, uint32_t process, const char *endpoint)
{
    const struct pt_profile *profile = counters->follow->profile;
    return endpoint_of(counters, pt_string(profile, profile->processes.items[process].service),
                       endpoint ? endpoint : NONE);
}

/* Takes what was read. */
static void count_endpoints(void *data)
{
    struct pt_counters *counters = data;
    struct pt_profile *profile = counters->follow->profile;
    uint32_t count;
    PT_AUTO_FREE struct pt_sample *samples = pt_take_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_counted_endpoint *to = sums_for(counters, profile->threads.items[samples[i].thread].process,
                                                  endpoint_in(profile, samples[i].labels));
        to->cpu_ns += samples[i].cpu_ns;
        to->samples += samples[i].count;
    }
    for (PT_EACH(const struct pt_requests, from, &profile->requests))
        sums_for(counters, from->process, from->endpoint ? pt_string(profile, from->endpoint) : NULL)->requests +=
            from->sums.count;
    profile->requests.count = 0;
    pt_index_free(&profile->requests.index);
}

/* Lets the reader go, and begins with what still runs. */
static void begin_again(struct pt_counters *counters)
{
    free_earlier(counters);
    counters->earlier.items = counters->processes.items;
    counters->earlier.count = counters->processes.count;
    counters->earlier.index = counters->processes.index;
    memset(&counters->processes, 0, sizeof counters->processes);
    pt_push_state_note(&counters->places, counters->follow, counters->directory, true);
    pt_follow_free(counters->follow);
    counters->since_unix_ns = pt_clock_ns(CLOCK_REALTIME) - RECENT_S * PT_SECOND;
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
    if (counters->read_ns && now_ns < counters->read_ns + PT_SECOND)
        return;
    bool complete = pt_follow_read(counters->follow, counters->read_ns ? READ_NS : UINT64_MAX);
    counters->read_ns = now_ns;
    counters->now_unix_ns = pt_clock_ns(CLOCK_REALTIME);
    count_processes(counters);
    counters->disk_bytes = counters->disk_files = 0;
    pt_each_log(counters->directory, add_file, counters);
    if (complete && pt_follow_is_stale(counters->follow, counters->spare))
        begin_again(counters);
}
