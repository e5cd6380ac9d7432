/* SPDX-License-Identifier: Apache-2.0 */
/* From segments to the profile: pt_profile_add_segment. */
#include <stdlib.h>

#include "adder.h"
#include "http_requests.h"
#include "ready.h"
#include "selection.h"
#include "sums.h"
#include "traces.h"

static void accept_samples(void *data, const struct pt_segment *segment, const struct pt_log_samples *from)
{
    pt_adder_samples(data, segment, from);
}

/* What ran at other times is known by the sums of the process. */
static bool is_in_time(void *data, const struct pt_segment *segment, uint64_t start_unix_ns, uint64_t wall_ns)
{
    struct pt_adder *adder = data;
    struct pt_process *process = pt_id_map_process(&adder->ids, segment);
    bool wanted = pt_clip_interval(adder->ids.profile, process, &(struct pt_interval){start_unix_ns, wall_ns});
    process->passed_over |= !wanted && !adder->ids.skipped;
    return wanted;
}

static bool counts(const struct pt_adder *adder, const struct pt_segment *segment, uint64_t end_unix_ns)
{
    const struct pt_growing_part *part = adder->part;
    bool timed = part && (part->timed || segment->process.compacted_ns);
    return !part || (part->counts && (!timed || end_unix_ns >= part->since_unix_ns));
}

static bool is_in_part(void *data, const struct pt_segment *segment, uint64_t start_unix_ns, uint64_t wall_ns)
{
    return counts(data, segment, start_unix_ns + wall_ns);
}

static bool is_later(void *data, const struct pt_segment *segment, uint64_t end_unix_ns)
{
    const struct pt_growing_part *part = ((struct pt_adder *)data)->part;
    return end_unix_ns >= (segment->process.compacted_ns ? part->compacted_until_unix_ns : part->until_unix_ns);
}

/* Of what comes after the first request nothing is asked. */
static bool is_before_ready(void *data, const struct pt_segment *segment, uint64_t start_unix_ns, uint64_t wall_ns)
{
    struct pt_adder *adder = data;
    uint64_t serves = pt_id_map_process(&adder->ids, segment)->ready.serves_unix_ns;
    (void)wall_ns;
    return !serves || start_unix_ns < serves;
}

static void find_ready(void *data, const struct pt_segment *segment, const struct pt_log_samples *from)
{
    struct pt_adder *adder = data;
    pt_ready_samples(&pt_id_map_process(&adder->ids, segment)->ready, segment, from);
}

static void find_first_request(void *data, const struct pt_segment *segment, const struct pt_log_requests *from)
{
    struct pt_adder *adder = data;
    pt_ready_requests(&pt_id_map_process(&adder->ids, segment)->ready, from->start_unix_ns);
}

static void accept_waits(void *data, const struct pt_log_waits *waits)
{
    struct pt_adder *adder = data;
    for (uint32_t i = 0; i < waits->count; i++)
        adder->ids.profile->waits |= waits->items[i].node != 0;
    if (adder->ids.profile->request->select.join_pools)
        pt_pools_add_waits(&adder->pools, waits);
}

static void accept_requests(void *data, const struct pt_segment *segment, const struct pt_log_requests *from)
{
    struct pt_adder *adder = data;
    struct pt_profile *profile = adder->ids.profile;
    const struct pt_interval interval = {from->start_unix_ns, from->wall_ns};
    struct pt_interval accepted = interval;
    const struct pt_process *process = pt_id_map_process(&adder->ids, segment);
    uint64_t timed_from_ns = profile->request->timed_from_ns;
    if (!counts(adder, segment, from->start_unix_ns + from->wall_ns))
        return;
    if (adder->ids.skipped || !pt_clip_interval(profile, process, &accepted) ||
        (profile->request->select.to.ready && pt_ready_in(&process->ready, &interval)) ||
        !pt_accepts_process(profile, adder->ids.process))
        return;
    struct pt_requests requests = {.process = adder->ids.process, .sums = from->sums};
    requests.endpoint = pt_id_map_string(&adder->ids, segment, from->endpoint);
    if (timed_from_ns && from->start_unix_ns + from->wall_ns >= timed_from_ns)
        requests.interval = pt_add_interval(profile, from->start_unix_ns, from->wall_ns);
    pt_requests_cut(&requests.sums, &interval, &accepted);
    pt_add_requests(profile, &requests);
}

static void accept_traced(void *data, const struct pt_segment *segment, const struct pt_log_traced *sample)
{
    struct pt_adder *adder = data;
    pt_id_map_process(&adder->ids, segment);
    if (!adder->ids.skipped)
        pt_traces_accept(&adder->ids, segment, sample);
}

static void accept_notice(void *data, const struct pt_segment *segment, uint64_t unix_ns, uint64_t severity,
                          struct pt_text text)
{
    struct pt_adder *adder = data;
    struct pt_process *process = pt_id_map_process(&adder->ids, segment);
    if (adder->ids.skipped)
        return;
    *PT_APPEND(&process->notices) = (struct pt_notice){unix_ns, severity, pt_id_map_intern(&adder->ids, text)};
}

static void accept_usage(void *data, const struct pt_segment *segment)
{
    struct pt_adder *adder = data;
    struct pt_process *process = pt_id_map_process(&adder->ids, segment);
    const struct pt_accounting *now = &segment->accounting;
    if (adder->ids.skipped || !adder->ids.profile->request->usage)
        return;
    *PT_APPEND(&process->usage) = (struct pt_usage){
        now->end_unix_ns,          now->wall_ns,      now->cpu_ns,      now->samples, now->voluntary_switches,
        now->involuntary_switches, now->minor_faults, now->major_faults};
}

static void forget(void *data, const struct pt_segment *segment, enum pt_table_kind kind, uint32_t id)
{
    struct pt_adder *adder = data;
    pt_adder_put_sums(adder, segment); /* they mean the old definition */
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

static void accept_sums(struct pt_adder *adder, const struct pt_segment *segment)
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
        process->paused = segment->process.paused;
        process->control_since_ns = segment->process.control_since_ns;
        process->control_hz = segment->process.control_hz;
        process->control_ns = segment->process.control_ns;
    }
    if (segment->process.run_billed_ns) /* it is the last block */
        process->run_billed_ns = segment->process.run_billed_ns;
    if (segment->has_accounting && !adder->ids.skipped)
        pt_sums_accept(process, segment);
    if (latest)
        process->ended = segment->end_reason == PP_END_EXIT || segment->end_reason == PP_END_EXEC;
}

/* Adds what was read of a segment since the last call. */
static void put_segment(struct pt_adder *adder, const struct pt_segment *segment)
{
    pt_adder_put_sums(adder, segment);
    if (segment->has_process || adder->ids.process != PT_NONE)
        accept_sums(adder, segment);
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

static struct pt_segment_sink sink_of(struct pt_adder *adder)
{
    const struct pt_load_request *request = adder->ids.profile->request;
    bool sums = adder->ids.profile->keep == PT_KEEP_SUMS;
    if (request->ready)
        return (struct pt_segment_sink){
            .data = adder, .samples = find_ready, .wants = is_before_ready, .requests = find_first_request};
    return (struct pt_segment_sink){.data = adder,
                                    .samples = sums ? NULL : accept_samples,
                                    .wants = pt_selects_time(&request->select) ? is_in_time : NULL,
                                    .waits = accept_waits,
                                    .requests = sums ? NULL : accept_requests,
                                    .notice = accept_notice,
                                    .traced = sums ? NULL : accept_traced,
                                    .accounting = accept_usage,
                                    .redefined = forget};
}

static enum pt_read_result add_one(struct pt_profile *profile, const void *data, size_t size, const char *name,
                                   size_t *budget, size_t *end)
{
    struct pt_segment segment;
    PT_AUTO(pt_adder_free) struct pt_adder adder = {.ids = {.profile = profile, .name = name, .process = PT_NONE}};
    const struct pt_segment_sink sink = sink_of(&adder);
    bool wanted = is_wanted(profile, data, size);
    enum pt_read_result result = pt_segment_read(data, size, budget, &segment, wanted ? &sink : NULL);
    if (result == PT_READ_OK && wanted) {
        put_segment(&adder, &segment);
        profile->losses.repeated_segments += adder.ids.skipped;
    }
    *end = segment.end;
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
    struct pt_adder adder;
    struct pt_segment segment;
    char *name;
    bool unwanted;
};

struct pt_growing *pt_growing_new(struct pt_profile *profile, const char *name)
{
    struct pt_growing *growing = pt_alloc(1, sizeof *growing);
    growing->name = pt_strdup(name);
    growing->adder = (struct pt_adder){.ids = {.profile = profile, .name = growing->name, .process = PT_NONE}};
    return growing;
}

enum pt_read_result pt_growing_read(struct pt_growing *growing, const void *data, size_t size, uint64_t *end,
                                    const struct pt_growing_part *part)
{
    struct pt_adder *adder = &growing->adder;
    struct pt_segment *segment = &growing->segment;
    struct pt_segment_sink sink = sink_of(adder);
    sink.traced = NULL; /* a table of traces would grow without limit */
    adder->part = part;
    if (!adder->sums.slots) {
        adder->sums = adder->ids.profile->spare_sums;
        adder->ids.profile->spare_sums = (struct pt_sample_sums){0};
    }
    if (part) {
        sink.wants = is_in_part;
        sink.later = is_later;
    }
    if (!segment->end)
        growing->unwanted = !is_wanted(adder->ids.profile, data, size);
    enum pt_read_result result = pt_segment_read_on(data, size, segment, growing->unwanted ? NULL : &sink);
    *end = segment->end;
    adder->part = NULL;
    /* There may be thousands of logs: what their ids mean is kept once, in the profile. */
    if (segment->has_process && !growing->unwanted)
        pt_id_map_all(&adder->ids, segment, !adder->ids.profile->request->no_stacks);
    if (segment->has_process)
        pt_segment_release(segment);
    return result;
}

void pt_growing_add(struct pt_growing *growing)
{
    if (!growing->unwanted)
        put_segment(&growing->adder, &growing->segment);
    growing->segment.losses = (struct pt_read_losses){0};
    /* there may be thousands of logs, and few of them grow much at a time: they share a table */
    struct pt_profile *profile = growing->adder.ids.profile;
    pt_sample_sums_free(&profile->spare_sums);
    profile->spare_sums = growing->adder.sums;
    growing->adder.sums = (struct pt_sample_sums){0};
    pt_sample_sums_free(&growing->adder.thread_sums);
}

uint64_t pt_growing_later(const struct pt_growing *growing)
{
    return growing->segment.later_ns;
}

bool pt_growing_is_wanted_after_all(const struct pt_growing *growing)
{
    return growing->unwanted && growing->segment.has_process &&
           is_wanted_process(growing->adder.ids.profile, &growing->segment.process);
}

bool pt_growing_is_over(const struct pt_growing *growing)
{
    return !growing->unwanted && growing->segment.end_reason == PP_END_EXIT;
}

void pt_growing_move(struct pt_growing *growing, struct pt_profile *profile, const uint32_t *processes,
                     const uint32_t *const numbers[PT_TABLE_COUNT])
{
    struct pt_adder *adder = &growing->adder;
    pt_id_map_move(&adder->ids, profile, processes, numbers);
    pt_pools_forget_numbers(&adder->pools);
    free(adder->chosen);
    adder->chosen = NULL;
}

void pt_growing_free(struct pt_growing *growing)
{
    if (!growing)
        return;
    pt_adder_free(&growing->adder);
    pt_segment_free(&growing->segment);
    free(growing->name);
    free(growing);
}
