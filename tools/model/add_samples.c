/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "adder.h"
#include "gil_gc.h"
#include "selection.h"
#include "time_bins.h"

/* Returns whether threads have sums of their own. */
static bool sums_threads(const struct pt_adder *adder)
{
    return adder->ids.profile->keep == PT_KEEP_STACKS || adder->ids.profile->request->timed_from_ns;
}

/* Returns whether samples of the adder's interval lose their threads. */
static bool adds_stacks(const struct pt_adder *adder)
{
    return sums_threads(adder) && (adder->ids.profile->keep == PT_KEEP_STACKS || !adder->start_unix_ns);
}

/* Adds CPU time to a thread's sums. */
static void put_thread(struct pt_adder *adder, const struct pt_segment *segment, const struct pt_log_sample *sum,
                       uint32_t interval)
{
    struct pt_profile *profile = adder->ids.profile;
    uint32_t thread = pt_id_map_thread(&adder->ids, segment, sum->thread);
    pt_states_add(&profile->threads.items[thread].states, sum->state, sum->cpu_ns);
    if (profile->request->timed && profile->keep == PT_KEEP_STACKS)
        pt_add_busy(profile, thread, sum->state, interval, sum->cpu_ns);
}

/* Returns the thread that has all samples of the segment. */
static uint32_t whole_thread(struct pt_adder *adder)
{
    struct pt_profile *profile = adder->ids.profile;
    const struct pt_load_request *request = profile->request;
    uint32_t process = adder->ids.process;
    if (request->counted_as)
        process = request->counted_as(request->counted_as_context, process);
    if (adder->counted_as != process + 1) {
        const struct pt_thread thread = {.process = process, .name = pt_intern_text(profile, "(process)")};
        adder->whole = pt_add_thread(profile, &thread);
        adder->counted_as = process + 1;
    }
    return adder->whole;
}

/* Adds a sample, or CPU time of a stack. node: the profile's. */
static void put_sample(struct pt_adder *adder, const struct pt_segment *segment, const struct pt_log_sample *sum,
                       uint32_t node, uint32_t interval)
{
    bool stacks = adds_stacks(adder);
    struct pt_sample sample = {
        .thread = stacks                               ? PT_NONE
                  : adder->ids.profile->request->whole ? whole_thread(adder)
                                                       : pt_id_map_thread(&adder->ids, segment, sum->thread),
        .node = node,
        .labels = pt_id_map_label_set(&adder->ids, segment, sum->labels) & PT_MAX_LABEL_SETS,
        .state = sum->state & PT_MAX_STATES,
        .interval = interval,
        .count = sum->count,
        .cpu_ns = sum->cpu_ns,
    };
    if (adder->ids.profile->keep == PT_KEEP_STACKS)
        pt_add_stack(adder->ids.profile, &sample);
    else if (adder->ids.alone || adder->ids.profile->request->whole)
        pt_append_sample(adder->ids.profile, &sample);
    else
        pt_add_sample(adder->ids.profile, &sample);
}

/* Adds the samples that belong under what the main thread waited in. */
static void put_pools(struct pt_adder *adder, const struct pt_segment *segment, uint32_t interval)
{
    struct pt_pools *pools = &adder->pools;
    for (uint32_t i = 0; i < pools->count; i++) {
        struct pt_sample_sums *sums = &pools->waits[i].sums;
        struct pt_log_sample sum;
        for (uint64_t at = 0; pt_sample_sums_next(sums, &at, &sum);)
            put_sample(adder, segment, &sum, pt_pools_node(pools, &adder->ids, segment, i, sum.node), interval);
        pt_sample_sums_clear(sums);
    }
}

void pt_adder_put_sums(struct pt_adder *adder, const struct pt_segment *segment)
{
    struct pt_profile *profile = adder->ids.profile;
    const struct pt_load_request *request = profile->request;
    struct pt_log_sample sum;
    uint32_t interval = 0;
    if (!adder->sums.count && !adder->pools.sums)
        return;
    if (request->timed && (adder->start_unix_ns || !request->timed_from_ns))
        interval = pt_add_interval(profile, adder->start_unix_ns, adder->wall_ns);
    for (uint64_t at = 0; pt_sample_sums_next(&adder->thread_sums, &at, &sum);)
        put_thread(adder, segment, &sum, interval);
    for (uint64_t at = 0; pt_sample_sums_next(&adder->sums, &at, &sum);)
        put_sample(adder, segment, &sum, request->no_stacks ? 0 : pt_id_map_node(&adder->ids, segment, sum.node),
                   interval);
    if (adder->pools.sums)
        put_pools(adder, segment, interval);
    adder->pools.sums = false;
    adder->ids.alone = adder->ids.alone && request->timed; /* another interval is another sample */
    pt_sample_sums_clear(&adder->sums);
    pt_sample_sums_clear(&adder->thread_sums);
    pt_time_bins_bound(profile);
}

/* Adds samples, as far as the profile distinguishes them, and adds them to the sums of threads. */
static void add_to(struct pt_adder *adder, struct pt_sample_sums *sums, const struct pt_log_sample *samples,
                   uint32_t count)
{
    static const struct pt_sums_by by_thread = {.thread = UINT32_MAX, .state = UINT32_MAX};
    const struct pt_load_request *request = adder->ids.profile->request;
    bool plain = request->plain || sums_threads(adder);
    const struct pt_sums_by by = {.thread = adds_stacks(adder) ? 0 : UINT32_MAX,
                                  .node = request->no_stacks ? 0 : UINT32_MAX,
                                  .labels = UINT32_MAX,
                                  .state = plain ? PP_STATE_GC_KNOWN | PP_STATE_GC : UINT32_MAX};
    pt_sample_sums_add(sums, &by, samples, count);
    if (sums_threads(adder))
        pt_sample_sums_add(&adder->thread_sums, &by_thread, samples, count);
}

/* Adds samples of whole processes, by the profile's numbers: a thousand segments share these sums. */
static void add_whole(struct pt_adder *adder, const struct pt_segment *segment, const struct pt_log_sample *samples,
                      uint32_t count)
{
    static const struct pt_sums_by by = {UINT32_MAX, UINT32_MAX, UINT32_MAX, PP_STATE_GC_KNOWN | PP_STATE_GC};
    struct pt_log_sample mapped[PT_SAMPLES_TOGETHER];
    pt_id_map_samples(&adder->ids, segment, samples, count, whole_thread(adder), mapped);
    pt_sample_sums_add(&adder->ids.profile->whole, &by, mapped, count);
}

/* Adds samples of the interval; those of pools by parts. */
static void add(struct pt_adder *adder, const struct pt_segment *segment, const struct pt_interval *interval,
                const struct pt_log_sample *samples, uint32_t count)
{
    struct pt_pools *pools = &adder->pools;
    if (!pools->total && adder->ids.profile->request->whole) {
        add_whole(adder, segment, samples, count);
        return;
    }
    if (!pools->total) {
        add_to(adder, &adder->sums, samples, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!pt_pools_add_sample(pools, &adder->ids, segment, interval, &samples[i])) {
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

static bool is_chosen(struct pt_adder *adder, const struct pt_segment *segment, const struct pt_interval *interval,
                      const struct pt_log_sample *sample)
{
    struct pt_profile *profile = adder->ids.profile;
    uint32_t thread = pt_id_map_thread(&adder->ids, segment, sample->thread);
    adder->chosen = pt_grow(adder->chosen, &adder->chosen_capacity, profile->threads.count, sizeof *adder->chosen);
    if (!adder->chosen[thread])
        adder->chosen[thread] = pt_accepts_thread(profile, thread) ? 1 : 2;
    return adder->chosen[thread] == 1 &&
           pt_accepts_sample(profile, &profile->processes.items[adder->ids.process], segment, interval, sample);
}

/* Adds what is selected of a part of the interval. */
static void add_part(struct pt_adder *adder, const struct pt_segment *segment, const struct pt_log_samples *from,
                     const struct pt_interval *interval, const struct pt_interval *part, bool is_cut)
{
    bool all = pt_accepts_all(adder->ids.profile);
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
        if ((!sample.count && !sample.cpu_ns) || (!all && !is_chosen(adder, segment, interval, &sample)))
            continue;
        add(adder, segment, interval, &sample, 1);
        adder->ids.profile->cut_ns += is_cut ? sample.cpu_ns : 0;
    }
}

static bool begins_interval(struct pt_adder *adder, const struct pt_interval *interval)
{
    return interval->start_unix_ns != adder->start_unix_ns || interval->wall_ns != adder->wall_ns;
}

/* Adds the selected part of an interval, bin by bin. */
static void add_accepted(struct pt_adder *adder, const struct pt_segment *segment, const struct pt_log_samples *from,
                         const struct pt_interval *interval, const struct pt_interval *accepted)
{
    const struct pt_profile *profile = adder->ids.profile;
    const struct pt_load_request *request = profile->request;
    bool timed = request->timed && from->start_unix_ns + from->wall_ns >= request->timed_from_ns;
    struct pt_interval left = timed ? *accepted : (struct pt_interval){0}, bin;
    do {
        struct pt_interval rest = left, part = pt_time_slice(profile, &left, &bin);
        if (begins_interval(adder, &bin)) {
            pt_adder_put_sums(adder, segment);
            left = rest;
            part = pt_time_slice(profile, &left, &bin); /* bins may have become wider */
            adder->start_unix_ns = bin.start_unix_ns;
            adder->wall_ns = bin.wall_ns;
        }
        add_part(adder, segment, from, interval, timed ? &part : accepted, accepted->wall_ns < interval->wall_ns);
    } while (left.wall_ns);
}

void pt_adder_samples(struct pt_adder *adder, const struct pt_segment *segment, const struct pt_log_samples *from)
{
    struct pt_process *process = pt_id_map_process(&adder->ids, segment);
    struct pt_profile *profile = adder->ids.profile;
    if (adder->ids.skipped || profile->too_many)
        return;
    const struct pt_interval interval = {from->start_unix_ns, from->wall_ns};
    struct pt_interval accepted = interval;
    bool in_time = profile->request->traces != PT_TRACES_ONLY && pt_clip_interval(profile, process, &accepted);
    uint64_t samples = 0, found_ns = 0;
    for (uint32_t i = 0; i < from->count; i++) {
        samples += from->items[i].count;
        found_ns += from->items[i].cpu_ns;
    }
    process->samples += samples;
    process->found_ns += found_ns;
    if (in_time && found_ns && accepted.wall_ns < interval.wall_ns && interval.wall_ns > profile->cut_wall_ns)
        profile->cut_wall_ns = interval.wall_ns;
    if (in_time)
        add_accepted(adder, segment, from, &interval, &accepted);
    uint64_t end = from->start_unix_ns + from->wall_ns;
    if (end > process->end_unix_ns)
        process->end_unix_ns = end;
}

void pt_adder_free(struct pt_adder *adder)
{
    pt_id_map_free(&adder->ids);
    pt_sample_sums_free(&adder->sums);
    pt_sample_sums_free(&adder->thread_sums);
    pt_pools_free(&adder->pools);
    free(adder->chosen);
}
