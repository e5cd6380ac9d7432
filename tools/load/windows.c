/* SPDX-License-Identifier: Apache-2.0 */
#include "windows.h"

#include <stdlib.h>
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "../model/extract.h"
#include "../model/gil_gc.h"
#include "../model/http_requests.h"
#include "../model/time_bins.h"
#include "../query/select.h"
#include "follow.h"

/* A long log is read in portions, between which samples leave the profile that is older than the first window. */
#define PORTION_NS 100000000u

/* Samples that were not given, or not all of them; numbers are those of the follower's profile. */
struct rest {
    struct pt_sample sample;
    struct pt_interval interval;
    uint64_t given_count, given_ns;
};

/* Requests are given with the window that their interval ends in: there are no parts of one. */
struct requests_rest {
    struct pt_requests requests;
    uint64_t end_unix_ns;
};

struct pt_windows {
    struct pt_follow *follow;
    struct pt_load_request request;       /* of the window's profile */
    uint64_t first_unix_ns, from_unix_ns; /* where the first window begins, and the next one */
    PT_TABLE_OF(struct rest) rests;
    PT_TABLE_OF(struct requests_rest) requests;
    bool *ended; /* by process: its pending time was given */
    uint32_t ended_capacity;
};

struct pt_windows *pt_windows_new(const struct pt_load_request *request, uint64_t from_unix_ns)
{
    struct pt_windows *windows = pt_alloc(1, sizeof *windows);
    struct pt_load_request all = *request;
    all.all = !request->run;
    all.keep = PT_KEEP_SAMPLES;
    all.traces = PT_TRACES_NONE;
    windows->request = all;
    windows->first_unix_ns = windows->from_unix_ns = from_unix_ns;
    windows->follow = pt_follow_new(&all, UINT64_MAX);
    windows->follow->request.plain = request->plain;
    windows->follow->own_only = !request->run;
    windows->follow->request.select.from.unix_ns = from_unix_ns;
    return windows;
}

const struct pt_follow *pt_windows_follow(const struct pt_windows *windows)
{
    return windows->follow;
}

/* Returns the part of a value that belongs before this time. */
static uint64_t part_before(const struct pt_interval *interval, uint64_t value, uint64_t unix_ns)
{
    if (pt_interval_has_time(interval))
        return pt_interval_part(interval, value, 0, unix_ns);
    return interval->start_unix_ns < unix_ns ? value : 0;
}

static void take_in(struct pt_windows *windows)
{
    struct pt_profile *profile = windows->follow->profile;
    uint32_t count;
    pt_states_add_gc_frames(profile);
    PT_AUTO_FREE struct pt_sample *samples = pt_take_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++)
        *PT_APPEND(&windows->rests) =
            (struct rest){.sample = samples[i], .interval = profile->intervals.items[samples[i].interval]};
    for (uint32_t i = 0; i < profile->requests.count; i++) {
        const struct pt_requests *requests = &profile->requests.items[i];
        const struct pt_interval *interval = &profile->intervals.items[requests->interval];
        *PT_APPEND(&windows->requests) = (struct requests_rest){*requests, interval->start_unix_ns + interval->wall_ns};
    }
    profile->requests.count = 0;
    pt_index_free(&profile->requests.index);
    profile->intervals.count = 1;
    pt_index_free(&profile->intervals.index);
}

/* Reads everything that is there. */
static void read_on(struct pt_windows *windows)
{
    for (bool all = false; !all;) {
        all = pt_follow_read(windows->follow, PORTION_NS);
        take_in(windows);
    }
}

/* Returns whether nothing can follow in the logs of a process. */
static bool is_over(const struct pt_windows *windows, const struct pt_process *process)
{
    const struct pt_profile *profile = windows->follow->profile;
    const char *boot_id = pt_string(profile, process->boot_id), *space = pt_string(profile, process->pid_namespace);
    if (process->ended)
        return true;
    PT_AUTO_FREE char *machine =
        pt_machine((struct pt_text){boot_id, strlen(boot_id)}, (struct pt_text){space, strlen(space)});
    const char *own = windows->follow->files.own_machine;
    return own && pt_alive(own, machine, process->pid) == PT_ALIVE_NO;
}

/* Of processes that are over: CPU time since the last samples of their threads becomes [unsampled], as in
 * pt_profile_finish. */
static void add_pending(struct pt_windows *windows)
{
    struct pt_profile *profile = windows->follow->profile;
    windows->ended = pt_grow(windows->ended, &windows->ended_capacity, profile->processes.count, 1);
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_accounting *sum = &profile->processes.items[i].accounting;
        if (windows->ended[i] || !sum->pending_ns || !is_over(windows, &profile->processes.items[i]))
            continue;
        windows->ended[i] = true;
        if (sum->end_unix_ns < windows->first_unix_ns)
            continue;
        const uint64_t pending_ns = sum->pending_ns, end = sum->end_unix_ns;
        struct pt_thread thread = {.process = i, .name = pt_intern_text(profile, "(process)")};
        *PT_APPEND(&windows->rests) = (struct rest){
            .sample = {.thread = pt_add_thread(profile, &thread),
                       .node = pt_add_node(profile, 0, pt_add_pseudo(profile, PP_PSEUDO_UNSAMPLED)),
                       .cpu_ns = pending_ns},
            .interval = {end, 0},
        };
    }
}

/* Takes what belongs before this time from the rests; returns the samples, *count of them. The caller frees. */
static struct pt_sample *take_samples(struct pt_windows *windows, uint64_t to_unix_ns, uint32_t *count)
{
    struct pt_sample *samples = pt_alloc((size_t)windows->rests.count + 1, sizeof *samples);
    uint32_t left = 0;
    *count = 0;
    for (uint32_t i = 0; i < windows->rests.count; i++) {
        struct rest rest = windows->rests.items[i];
        struct pt_sample part = rest.sample;
        part.count = part_before(&rest.interval, part.count, to_unix_ns) - rest.given_count;
        part.cpu_ns = part_before(&rest.interval, part.cpu_ns, to_unix_ns) - rest.given_ns;
        rest.given_count += part.count;
        rest.given_ns += part.cpu_ns;
        if (part.count || part.cpu_ns)
            samples[(*count)++] = part;
        if (rest.given_count < rest.sample.count || rest.given_ns < rest.sample.cpu_ns)
            windows->rests.items[left++] = rest;
    }
    windows->rests.count = left;
    return samples;
}

static struct pt_requests *take_requests(struct pt_windows *windows, uint64_t to_unix_ns, uint32_t *count)
{
    struct pt_requests *requests = pt_alloc((size_t)windows->requests.count + 1, sizeof *requests);
    uint32_t left = 0;
    *count = 0;
    for (uint32_t i = 0; i < windows->requests.count; i++) {
        struct requests_rest *rest = &windows->requests.items[i];
        if (rest->end_unix_ns <= to_unix_ns)
            requests[(*count)++] = rest->requests;
        else
            windows->requests.items[left++] = *rest;
    }
    windows->requests.count = left;
    return requests;
}

struct pt_profile *pt_windows_next(struct pt_windows *windows, uint64_t to_unix_ns)
{
    uint32_t count, request_count;
    struct pt_selection *select = &windows->request.select;
    read_on(windows);
    add_pending(windows);
    PT_AUTO_FREE struct pt_sample *samples = take_samples(windows, to_unix_ns, &count);
    PT_AUTO_FREE struct pt_requests *requests = take_requests(windows, to_unix_ns, &request_count);
    select->from = (struct pt_when){.unix_ns = windows->from_unix_ns};
    select->to = (struct pt_when){.unix_ns = to_unix_ns};
    windows->from_unix_ns = to_unix_ns;
    if (!count && !request_count)
        return NULL;
    struct pt_profile *window =
        pt_extract(windows->follow->profile, &windows->request, samples, count, requests, request_count);
    if ((window->samples.count && pt_select(window)) || window->requests.count)
        return window;
    pt_profile_free(window);
    return NULL;
}

void pt_windows_free(struct pt_windows *windows)
{
    if (!windows)
        return;
    pt_follow_free(windows->follow);
    PT_FREE_TABLE(&windows->rests);
    PT_FREE_TABLE(&windows->requests);
    free(windows->ended);
    free(windows);
}
