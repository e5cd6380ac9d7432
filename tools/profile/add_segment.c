/* SPDX-License-Identifier: Apache-2.0 */
/* From segments to the profile: pt_profile_add_segment. */
#include <stdlib.h>
#include <string.h>

#include "gil_gc.h"
#include "id_map.h"
#include "model.h"
#include "pools.h"
#include "requests.h"
#include "sample_sums.h"
#include "select.h"
#include "sums.h"
#include "time_bins.h"
#include "traces.h"

/* The state of adding one segment to a profile. */
struct adder {
    struct pt_id_map ids;
    struct pt_sample_sums sums, thread_sums; /* thread_sums: if only stacks are kept */
    struct pt_pools pools;                   /* with sums of their own */
    uint64_t start_unix_ns, wall_ns;         /* the interval of the sums, if times are kept */
    unsigned char *chosen;                   /* by thread of the profile: 1 selected, 2 not; 0: not known yet */
    uint32_t chosen_capacity;
};

/* Adds CPU time of a thread to a profile of PT_KEEP_STACKS. */
static void put_thread(struct adder *adder, const struct pt_segment *segment, const struct pt_log_sample *sum,
                       uint32_t interval)
{
    struct pt_profile *profile = adder->ids.profile;
    uint32_t thread = pt_id_map_thread(&adder->ids, segment, sum->thread);
    pt_states_add(&profile->threads.items[thread].states, sum->state, sum->cpu_ns);
    if (profile->request->timed)
        pt_add_busy(profile, thread, sum->state, interval, sum->cpu_ns);
}

/* Adds a sample, or CPU time of a stack to a profile of PT_KEEP_STACKS. node: the profile's. */
static void put_sample(struct adder *adder, const struct pt_segment *segment, const struct pt_log_sample *sum,
                       uint32_t node, uint32_t interval)
{
    bool stacks = adder->ids.profile->keep == PT_KEEP_STACKS;
    struct pt_sample sample = {
        .thread = stacks ? PT_NONE : pt_id_map_thread(&adder->ids, segment, sum->thread),
        .node = node,
        .labels = pt_id_map_label_set(&adder->ids, segment, sum->labels) & PT_MOST_LABEL_SETS,
        .state = sum->state & PT_MOST_STATES,
        .interval = interval,
        .count = sum->count,
        .cpu_ns = sum->cpu_ns,
    };
    if (stacks)
        pt_add_stack(adder->ids.profile, &sample);
    else if (adder->ids.alone)
        pt_append_sample(adder->ids.profile, &sample);
    else
        pt_add_sample(adder->ids.profile, &sample);
}

/* Adds the samples that belong under what the main thread waited in. */
static void put_pools(struct adder *adder, const struct pt_segment *segment, uint32_t interval)
{
    struct pt_pools *pools = &adder->pools;
    for (uint32_t i = 0; i < pools->count; i++) {
        struct pt_sample_sums *sums = &pools->waits[i].sums;
        for (uint32_t k = 0; k < sums->count; k++)
            put_sample(adder, segment, &sums->items[k],
                       pt_pools_node(pools, &adder->ids, segment, i, sums->items[k].node), interval);
        pt_sample_sums_clear(sums);
    }
}

/* Moves the sums of an interval into the profile. */
static void put_sums(struct adder *adder, const struct pt_segment *segment)
{
    struct pt_profile *profile = adder->ids.profile;
    const struct pt_load_request *request = profile->request;
    uint32_t interval = 0;
    if (!adder->sums.count && !adder->pools.sums)
        return;
    if (request->timed && (adder->start_unix_ns || !request->timed_from_ns))
        interval = pt_add_interval(profile, adder->start_unix_ns, adder->wall_ns);
    for (uint32_t i = 0; i < adder->thread_sums.count; i++)
        put_thread(adder, segment, &adder->thread_sums.items[i], interval);
    for (uint32_t i = 0; i < adder->sums.count; i++)
        put_sample(adder, segment, &adder->sums.items[i],
                   pt_id_map_node(&adder->ids, segment, adder->sums.items[i].node), interval);
    if (adder->pools.sums)
        put_pools(adder, segment, interval);
    adder->pools.sums = false;
    adder->ids.alone = adder->ids.alone && request->timed; /* another interval is another sample */
    pt_sample_sums_clear(&adder->sums);
    pt_sample_sums_clear(&adder->thread_sums);
    pt_time_bins_bound(profile);
}

/* Adds samples without what a plain profile does not distinguish. If only stacks are kept, threads have sums of their
 * own. */
static void add_plain(struct adder *adder, struct pt_sample_sums *sums, const struct pt_log_sample *samples,
                      uint32_t count, bool stacks)
{
    struct pt_log_sample plain[PT_SAMPLES_TOGETHER], threads[PT_SAMPLES_TOGETHER];
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_log_sample *sample = &samples[i];
        threads[i] = (struct pt_log_sample){.thread = sample->thread, .state = sample->state, .cpu_ns = sample->cpu_ns};
        plain[i] = (struct pt_log_sample){.thread = stacks ? 0 : sample->thread,
                                          .node = sample->node,
                                          .labels = sample->labels,
                                          .state = sample->state & (PP_STATE_GC_KNOWN | PP_STATE_GC),
                                          .count = sample->count,
                                          .cpu_ns = sample->cpu_ns};
    }
    pt_sample_sums_add(sums, plain, count);
    if (stacks)
        pt_sample_sums_add(&adder->thread_sums, threads, count);
}

static void add_to(struct adder *adder, struct pt_sample_sums *sums, const struct pt_log_sample *samples,
                   uint32_t count)
{
    const struct pt_profile *profile = adder->ids.profile;
    bool stacks = profile->keep == PT_KEEP_STACKS;
    if (stacks || profile->request->plain)
        add_plain(adder, sums, samples, count, stacks);
    else
        pt_sample_sums_add(sums, samples, count);
}

/* Adds samples of the interval; those of pools by parts. */
static void add(struct adder *adder, const struct pt_segment *segment, const struct pt_interval *interval,
                const struct pt_log_sample *samples, uint32_t count)
{
    struct pt_pools *pools = &adder->pools;
    if (!pools->total) {
        add_to(adder, &adder->sums, samples, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!pt_pools_take_sample(pools, &adder->ids, segment, interval, &samples[i])) {
            add_to(adder, &adder->sums, &samples[i], 1);
            continue;
        }
        pools->sums = true;
        for (uint32_t k = 0; k < pools->count; k++) {
            const struct pt_log_sample part = pt_pools_part(pools, k, &samples[i]);
            if (part.count || part.cpu_ns)
                add_to(adder, &pools->waits[k].sums, &part, 1);
        }
    }
}

static bool is_chosen(struct adder *adder, const struct pt_segment *segment, uint32_t id)
{
    struct pt_profile *profile = adder->ids.profile;
    uint32_t thread = pt_id_map_thread(&adder->ids, segment, id);
    adder->chosen = pt_grow(adder->chosen, &adder->chosen_capacity, profile->threads.count, sizeof *adder->chosen);
    if (!adder->chosen[thread])
        adder->chosen[thread] = pt_takes_thread(profile, thread) ? 1 : 2;
    return adder->chosen[thread] == 1;
}

/* Adds what is selected of a part of the interval. */
static void add_part(struct adder *adder, const struct pt_segment *segment, const struct pt_log_samples *from,
                     const struct pt_interval *interval, const struct pt_interval *part, bool is_cut)
{
    bool all = pt_takes_all(adder->ids.profile);
    uint64_t start = part->start_unix_ns, end = start + part->wall_ns;
    if (all && part->wall_ns == interval->wall_ns) {
        add(adder, segment, interval, from->items, from->count);
        return;
    }
    for (uint32_t i = 0; i < from->count; i++) {
        struct pt_log_sample sample = from->items[i];
        if (part->wall_ns < interval->wall_ns) {
            sample.count = pt_interval_part(interval, sample.count, start, end);
            sample.cpu_ns = pt_interval_part(interval, sample.cpu_ns, start, end);
        }
        if ((!sample.count && !sample.cpu_ns) || (!all && !is_chosen(adder, segment, sample.thread)))
            continue;
        add(adder, segment, interval, &sample, 1);
        adder->ids.profile->cut_ns += is_cut ? sample.cpu_ns : 0;
    }
}

static bool begins_interval(struct adder *adder, const struct pt_interval *interval)
{
    return interval->start_unix_ns != adder->start_unix_ns || interval->wall_ns != adder->wall_ns;
}

/* Adds the selected part of an interval, bin by bin. */
static void add_taken(struct adder *adder, const struct pt_segment *segment, const struct pt_log_samples *from,
                      const struct pt_interval *interval, const struct pt_interval *taken)
{
    const struct pt_profile *profile = adder->ids.profile;
    const struct pt_load_request *request = profile->request;
    bool timed = request->timed && from->start_unix_ns + from->wall_ns >= request->timed_from_ns;
    struct pt_interval left = timed ? *taken : (struct pt_interval){0}, bin;
    do {
        struct pt_interval rest = left, part = pt_time_slice(profile, &left, &bin);
        if (begins_interval(adder, &bin)) {
            put_sums(adder, segment);
            left = rest;
            part = pt_time_slice(profile, &left, &bin); /* bins may have become wider */
            adder->start_unix_ns = bin.start_unix_ns;
            adder->wall_ns = bin.wall_ns;
        }
        add_part(adder, segment, from, interval, timed ? &part : taken, taken->wall_ns < interval->wall_ns);
    } while (left.wall_ns);
}

static void take_samples(void *context, const struct pt_segment *segment, const struct pt_log_samples *from)
{
    struct adder *adder = context;
    struct pt_process *process = pt_id_map_process(&adder->ids, segment);
    struct pt_profile *profile = adder->ids.profile;
    if (adder->ids.left_out || profile->too_many)
        return;
    const struct pt_interval interval = {from->start_unix_ns, from->wall_ns};
    struct pt_interval taken = interval;
    bool in_time = profile->request->traces != PT_TRACES_ONLY && pt_take_time(profile, &taken);
    for (uint32_t i = 0; i < from->count; i++) {
        process->samples += from->items[i].count;
        process->found_ns += from->items[i].cpu_ns;
    }
    if (in_time && taken.wall_ns < interval.wall_ns && interval.wall_ns > profile->cut_wall_ns)
        profile->cut_wall_ns = interval.wall_ns;
    if (in_time)
        add_taken(adder, segment, from, &interval, &taken);
    uint64_t end = from->start_unix_ns + from->wall_ns;
    if (end > process->end_unix_ns)
        process->end_unix_ns = end;
}

static void take_waits(void *context, const struct pt_log_waits *waits)
{
    struct adder *adder = context;
    for (uint32_t i = 0; i < waits->count; i++)
        adder->ids.profile->waits |= waits->items[i].node != 0;
    if (adder->ids.profile->request->select.join_pools)
        pt_pools_take(&adder->pools, waits);
}

static void take_requests(void *context, const struct pt_segment *segment, const struct pt_log_requests *from)
{
    struct adder *adder = context;
    struct pt_profile *profile = adder->ids.profile;
    const struct pt_interval interval = {from->start_unix_ns, from->wall_ns};
    struct pt_interval taken = interval;
    pt_id_map_process(&adder->ids, segment);
    uint64_t timed_from_ns = profile->request->timed_from_ns;
    if (adder->ids.left_out || !pt_take_time(profile, &taken) || !pt_takes_process(profile, adder->ids.process))
        return;
    struct pt_requests requests = {.process = adder->ids.process, .sums = from->sums};
    requests.endpoint = pt_id_map_intern(&adder->ids, pt_segment_string(segment, from->endpoint));
    if (timed_from_ns && from->start_unix_ns + from->wall_ns >= timed_from_ns)
        requests.interval = pt_add_interval(profile, from->start_unix_ns, from->wall_ns);
    pt_requests_cut(&requests.sums, &interval, &taken);
    pt_add_requests(profile, &requests);
}

static void take_traced(void *context, const struct pt_segment *segment, const struct pt_log_traced *sample)
{
    struct adder *adder = context;
    pt_id_map_process(&adder->ids, segment);
    if (!adder->ids.left_out)
        pt_traces_take(&adder->ids, segment, sample);
}

static void take_notice(void *context, const struct pt_segment *segment, uint64_t unix_ns, uint64_t severity,
                        struct pt_text text)
{
    struct adder *adder = context;
    struct pt_process *process = pt_id_map_process(&adder->ids, segment);
    if (adder->ids.left_out)
        return;
    *PT_APPEND(&process->notices) = (struct pt_notice){unix_ns, severity, pt_id_map_intern(&adder->ids, text)};
}

static void take_usage(void *context, const struct pt_segment *segment)
{
    struct adder *adder = context;
    struct pt_process *process = pt_id_map_process(&adder->ids, segment);
    const struct pt_accounting *now = &segment->accounting;
    if (adder->ids.left_out || !adder->ids.profile->request->usage)
        return;
    *PT_APPEND(&process->usage) = (struct pt_usage){
        now->end_unix_ns,          now->wall_ns,      now->cpu_ns,      now->samples, now->voluntary_switches,
        now->involuntary_switches, now->minor_faults, now->major_faults};
}

static void forget(void *context, const struct pt_segment *segment, enum pt_table_kind kind, uint32_t id)
{
    struct adder *adder = context;
    put_sums(adder, segment); /* they mean the old definition */
    pt_pools_forget(&adder->pools);
    pt_id_map_forget(&adder->ids, kind, id);
}

void pt_read_losses_add(struct pt_read_losses *sum, const struct pt_read_losses *one)
{
    sum->damaged_blocks += one->damaged_blocks;
    sum->damaged_bytes += one->damaged_bytes;
    sum->damaged_records += one->damaged_records;
    sum->missing_blocks += one->missing_blocks;
    sum->unknown_blocks += one->unknown_blocks;
    sum->truncated_bytes += one->truncated_bytes;
    sum->repeated_blocks += one->repeated_blocks;
    sum->repeated_segments += one->repeated_segments;
}

static void take_sums(struct adder *adder, const struct pt_segment *segment)
{
    struct pt_process *process = pt_id_map_process(&adder->ids, segment);
    bool latest = !process->parts.count || segment->process.segment >= process->latest_part;
    if (segment->has_accounting && latest) {
        if (segment->process.python_version.length) /* by now there may be more of them */
            process->python_version = pt_id_map_intern(&adder->ids, segment->process.python_version);
        if (segment->process.command_line.length) /* a worker gives itself a title */
            process->command_line = pt_id_map_command_line(&adder->ids, segment->process.command_line);
        if (segment->process.clock.length) /* perf events may end */
            process->clock = pt_id_map_intern(&adder->ids, segment->process.clock);
        if (segment->process.contexts.length) /* more is imported */
            process->contexts = pt_id_map_intern(&adder->ids, segment->process.contexts);
        if (segment->process.traces.length)
            process->traces = pt_id_map_intern(&adder->ids, segment->process.traces);
        process->period_ns = segment->process.period_ns; /* the last one: it may have been lowered */
    }
    if (segment->has_accounting && !adder->ids.left_out)
        pt_sums_take(process, segment);
    if (latest)
        process->ended = segment->end_reason == PP_END_EXIT || segment->end_reason == PP_END_EXEC;
}

/* Adds what was read of a segment since the last call. */
static void put_segment(struct adder *adder, const struct pt_segment *segment)
{
    put_sums(adder, segment);
    if (segment->has_process || adder->ids.process != PT_NONE)
        take_sums(adder, segment);
    pt_read_losses_add(&adder->ids.profile->losses, &segment->losses);
}

static bool is_wanted_process(const struct pt_profile *profile, const struct pt_log_process *process)
{
    const char *run = profile->request->run;
    if (run && !pt_run_is(profile->joins, process->run, run))
        return false;
    return !profile->request->wants || profile->request->wants(profile->request->wants_context, process);
}

/* Returns whether the request wants its run and its process. */
static bool is_wanted(const struct pt_profile *profile, const void *data, size_t size)
{
    struct pt_segment segment;
    if (!profile->request->run && !profile->request->wants)
        return true;
    bool wanted = pt_segment_read_process(data, size, &segment) == PT_READ_OK;
    wanted = wanted && is_wanted_process(profile, &segment.process);
    pt_segment_free(&segment);
    return wanted;
}

static void free_adder(struct adder *adder)
{
    pt_id_map_free(&adder->ids);
    pt_sample_sums_free(&adder->sums);
    pt_sample_sums_free(&adder->thread_sums);
    pt_pools_free(&adder->pools);
    free(adder->chosen);
}

static struct pt_segment_sink sink_of(struct adder *adder)
{
    bool sums = adder->ids.profile->keep == PT_KEEP_SUMS;
    return (struct pt_segment_sink){.context = adder,
                                    .samples = sums ? NULL : take_samples,
                                    .waits = take_waits,
                                    .requests = sums ? NULL : take_requests,
                                    .notice = take_notice,
                                    .traced = sums ? NULL : take_traced,
                                    .accounting = take_usage,
                                    .redefined = forget};
}

static enum pt_read_result add_one(struct pt_profile *profile, const void *data, size_t size, const char *name,
                                   size_t *budget, size_t *end)
{
    struct pt_segment segment;
    struct adder adder = {.ids = {.profile = profile, .name = name, .process = PT_NONE}};
    const struct pt_segment_sink sink = sink_of(&adder);
    bool wanted = is_wanted(profile, data, size);
    enum pt_read_result result = pt_segment_read(data, size, budget, &segment, wanted ? &sink : NULL);
    if (result == PT_READ_OK && wanted) {
        put_segment(&adder, &segment);
        profile->losses.repeated_segments += adder.ids.left_out;
    }
    *end = segment.end;
    free_adder(&adder);
    pt_segment_free(&segment);
    return result;
}

enum pt_read_result pt_profile_add_segment(struct pt_profile *profile, const void *data, size_t size, const char *name)
{
    size_t at = 0, end = 0, budget = pt_read_budget(size);
    enum pt_read_result result;
    do {
        result = add_one(profile, (const char *)data + at, size - at, name, &budget, &end);
        if (result != PT_READ_OK)
            break;
        at += end;
    } while (at < size && end);
    if (!at || at == size)
        return result;
    profile->losses.damaged_blocks++;
    profile->losses.damaged_bytes += size - at;
    return PT_READ_OK;
}

struct pt_growing {
    struct adder adder;
    struct pt_segment segment;
    char *name;
    bool unwanted;
};

struct pt_growing *pt_growing_new(struct pt_profile *profile, const char *name)
{
    struct pt_growing *growing = pt_alloc(1, sizeof *growing);
    growing->name = pt_strdup(name);
    growing->adder = (struct adder){.ids = {.profile = profile, .name = growing->name, .process = PT_NONE}};
    return growing;
}

enum pt_read_result pt_growing_read(struct pt_growing *growing, const void *data, size_t size, uint64_t *end)
{
    struct adder *adder = &growing->adder;
    struct pt_segment *segment = &growing->segment;
    struct pt_segment_sink sink = sink_of(adder);
    sink.traced = NULL; /* a table of traces would grow without limit */
    if (!segment->end)
        growing->unwanted = !is_wanted(adder->ids.profile, data, size);
    segment->losses = (struct pt_read_losses){0};
    enum pt_read_result result = pt_segment_read_on(data, size, segment, growing->unwanted ? NULL : &sink);
    *end = segment->end;
    if (result == PT_READ_OK && !growing->unwanted)
        put_segment(adder, segment);
    return result;
}

bool pt_growing_is_wanted_after_all(const struct pt_growing *growing)
{
    return growing->unwanted && growing->segment.has_process &&
           is_wanted_process(growing->adder.ids.profile, &growing->segment.process);
}

void pt_growing_free(struct pt_growing *growing)
{
    if (!growing)
        return;
    free_adder(&growing->adder);
    pt_segment_free(&growing->segment);
    free(growing->name);
    free(growing);
}
