/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../model/frame_text.h"
#include "../model/gil_gc.h"
#include "../symbols/symbols.h"

/* Flushes come each second: a process that wrote within this time is up to date. */
#define LAG_NS UINT64_C(2500000000)
/* Kept beyond the window: a process that was killed is noticed late, and then its last seconds are shown. */
#define SLACK_NS UINT64_C(10000000000)
/* Looking for names reads files of many megabytes: it may take a part in so many of the time. */
#define RESOLVE_SHARE 200

void pt_live_begin(struct pt_live *live, struct pt_target *target)
{
    live->target = target;
    live->fold.native = target->request.select.native;
    live->tasks.no_awaiters = target->request.select.no_awaiters;
    target->request.wants = pt_target_wants;
    target->request.wants_context = target;
    live->follow = pt_follow_new(&target->request, PT_LIVE_WINDOW_NS + SLACK_NS);
    live->generation = live->follow->generation;
}

static void forget(struct pt_live *live)
{
    free(live->since.items);
    free(live->window.items);
    free(live->recent.items);
    free(live->requests.items);
    free(live->request_counts);
    free(live->node_ns);
    free(live->node_counts);
    free(live->labels_ns);
    free(live->texts);
    pt_fold_free(&live->fold);
    pt_task_stacks_free(&live->tasks);
    *live = (struct pt_live){.follow = live->follow,
                             .target = live->target,
                             .tasks.no_awaiters = live->tasks.no_awaiters,
                             .fold.native = live->fold.native};
}

void pt_live_free(struct pt_live *live)
{
    forget(live);
    if (live->follow)
        pt_follow_free(live->follow);
    live->follow = NULL;
}

static void tally_clear(struct pt_tally *tally)
{
    if (tally->capacity)
        memset(tally->items, 0, tally->capacity * sizeof *tally->items);
    tally->whole_ns = tally->count = 0;
    tally->stack = 0;
}

/* Folds new stacks, makes the texts of their frames, and room for all of them. */
static void name_frames(struct pt_live *live)
{
    struct pt_profile *profile = live->follow->profile;
    struct pt_buffer text = {0};
    pt_fold_add(&live->fold, profile);
    live->texts = pt_grow(live->texts, &live->text_capacity, (uint64_t)profile->frames.count + 1, sizeof *live->texts);
    for (; live->text_count < profile->frames.count; live->text_count++) {
        pt_buffer_clear(&text);
        pt_frame_text(&text, profile, live->text_count, false);
        live->texts[live->text_count] = pt_intern_text(profile, text.data);
    }
    pt_buffer_free(&text);
    uint64_t strings = (uint64_t)profile->strings.count + 1;
    live->since.items = pt_grow(live->since.items, &live->since.capacity, strings, sizeof *live->since.items);
    live->window.items = pt_grow(live->window.items, &live->window.capacity, strings, sizeof *live->window.items);
}

static void tally_add(const struct pt_live *live, struct pt_tally *tally, uint32_t node, uint64_t ns, uint64_t count)
{
    const struct pt_profile *profile = live->follow->profile;
    bool leaf = true;
    if (!++tally->stack) {
        for (uint32_t i = 0; i < tally->capacity; i++)
            tally->items[i].seen = 0;
        tally->stack = 1;
    }
    for (node = pt_fold_node(&live->fold, node); node; node = profile->nodes.items[node].parent) {
        struct pt_tally_item *item = &tally->items[live->texts[profile->nodes.items[node].frame]];
        if (leaf) {
            item->self_ns += ns;
            item->self_count += count;
        }
        if (item->seen != tally->stack) {
            item->total_ns += ns;
            item->total_count += count;
        }
        item->seen = tally->stack;
        leaf = false;
    }
    tally->whole_ns += ns;
    tally->count += count;
}

static void tally_since_start(struct pt_live *live)
{
    uint32_t count = live->follow->profile->nodes.count;
    name_frames(live);
    tally_clear(&live->since);
    for (uint32_t i = 0; i < count && i < live->node_capacity; i++)
        if (live->node_ns[i])
            tally_add(live, &live->since, i, live->node_ns[i], live->node_counts[i]);
}

void pt_live_set_native(struct pt_live *live, enum pt_native native)
{
    pt_fold_free(&live->fold);
    live->fold = (struct pt_fold){.native = native};
    tally_since_start(live);
}

/* Looks up symbols if it is time to. Returns true if it did: texts of frames may have changed. */
static bool resolve(struct pt_live *live)
{
    struct pt_profile *profile = live->follow->profile;
    uint64_t begin = pt_clock_ns(CLOCK_MONOTONIC);
    if (begin < live->resolve_at_ns || !live->complete || profile->frames.count == live->resolved)
        return false;
    pt_symbols_resolve_names(profile);
    uint64_t end = pt_clock_ns(CLOCK_MONOTONIC);
    live->resolve_at_ns = end + RESOLVE_SHARE * (end - begin);
    live->resolved = profile->frames.count;
    live->text_count = 0;
    return true;
}

static void count_requests(struct pt_live *live)
{
    struct pt_profile *profile = live->follow->profile;
    if (profile->requests.count)
        live->request_counts = pt_grow(live->request_counts, &live->request_capacity, profile->strings.count,
                                       sizeof *live->request_counts);
    for (PT_EACH(const struct pt_requests, requests, &profile->requests)) {
        live->request_counts[requests->endpoint] += requests->sums.count;
        if (!requests->interval)
            continue;
        const struct pt_interval *interval = &profile->intervals.items[requests->interval];
        *PT_APPEND(&live->requests) =
            (struct pt_recent_requests){requests->process, requests->endpoint,
                                        interval->start_unix_ns + interval->wall_ns / 2, requests->sums.count};
    }
    profile->requests.count = 0;
    pt_index_free(&profile->requests.index);
}

static void count_samples(struct pt_live *live)
{
    struct pt_profile *profile = live->follow->profile;
    uint32_t count;
    pt_states_add_gc_frames(profile);
    struct pt_sample *samples = pt_take_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++)
        samples[i].node = pt_task_stack(&live->tasks, profile, samples[i].node, samples[i].labels);
    bool renamed = resolve(live);
    bool recount = renamed || count > profile->nodes.count; /* many samples of each stack */
    name_frames(live);
    live->node_ns =
        pt_grow(live->node_ns, &live->node_capacity, (uint64_t)profile->nodes.count + 1, sizeof *live->node_ns);
    live->node_counts = pt_grow(live->node_counts, &live->node_counts_capacity, (uint64_t)profile->nodes.count + 1,
                                sizeof *live->node_counts);
    live->labels_ns = pt_grow(live->labels_ns, &live->labels_capacity, profile->label_sets.count, sizeof(uint64_t));
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_sample *sample = &samples[i];
        live->labels_ns[sample->labels] += sample->cpu_ns;
        live->node_ns[sample->node] += sample->cpu_ns;
        live->node_counts[sample->node] += sample->count;
        if (!recount)
            tally_add(live, &live->since, sample->node, sample->cpu_ns, sample->count);
        if (!sample->interval)
            continue;
        const struct pt_interval *interval = &profile->intervals.items[sample->interval];
        *PT_APPEND(&live->recent) = (struct pt_recent){sample->thread, sample->node,
                                                       sample->labels, interval->start_unix_ns + interval->wall_ns / 2,
                                                       sample->cpu_ns, sample->count};
    }
    free(samples);
    count_requests(live);
    profile->intervals.count = 1; /* the time of item 0 is not read */
    pt_index_free(&profile->intervals.index);
    if (recount)
        tally_since_start(live);
}

static void refresh_clock(struct pt_live *live)
{
    const struct pt_profile *profile = live->follow->profile;
    uint64_t start, end;
    pt_profile_span(profile, &start, &end);
    live->now_unix_ns = pt_clock_ns(CLOCK_REALTIME);
    live->alive = 0;
    for (uint32_t i = 0; i < profile->processes.count; i++)
        live->alive += pt_live_is_alive(live, i);
    if (!live->alive && end)
        live->now_unix_ns = end;
    uint64_t span_ns = end > start ? end - start : 0;
    live->since_ns = pt_profile_accounting(profile).wall_ns;
    live->wall_ns = span_ns < PT_LIVE_WINDOW_NS ? span_ns : PT_LIVE_WINDOW_NS;
}

void pt_live_read(struct pt_live *live, uint64_t at_most_ns)
{
    bool complete = pt_follow_read(live->follow, at_most_ns);
    if (live->generation != live->follow->generation)
        forget(live);
    live->generation = live->follow->generation;
    live->complete = complete;
    count_samples(live);
    refresh_clock(live);
    if (complete) {
        uint32_t kept = 0, requests = 0;
        for (uint32_t i = 0; i < live->recent.count; i++)
            if (live->recent.items[i].middle_unix_ns + PT_LIVE_WINDOW_NS + SLACK_NS > live->now_unix_ns)
                live->recent.items[kept++] = live->recent.items[i];
        live->recent.count = kept;
        for (uint32_t i = 0; i < live->requests.count; i++)
            if (live->requests.items[i].middle_unix_ns + PT_LIVE_WINDOW_NS + SLACK_NS > live->now_unix_ns)
                live->requests.items[requests++] = live->requests.items[i];
        live->requests.count = requests;
    }
}

/* Logs lag by up to a second, each by its own: the last seconds of a process end with what it has written. */
static bool is_in_window(const struct pt_live *live, uint32_t process, uint64_t unix_ns)
{
    uint64_t end = live->follow->profile->processes.items[process].end_unix_ns;
    if (end + LAG_NS < live->now_unix_ns)
        end = live->now_unix_ns;
    return unix_ns + PT_LIVE_WINDOW_NS > end;
}

bool pt_live_is_in_window(const struct pt_live *live, const struct pt_recent *recent)
{
    return is_in_window(live, live->follow->profile->threads.items[recent->thread].process, recent->middle_unix_ns);
}

bool pt_live_are_in_window(const struct pt_live *live, const struct pt_recent_requests *requests)
{
    return is_in_window(live, requests->process, requests->middle_unix_ns);
}

bool pt_live_is_alive(const struct pt_live *live, uint32_t process)
{
    return pt_follow_is_alive(live->follow, process, pt_clock_ns(CLOCK_REALTIME));
}

void pt_live_tally_window(struct pt_live *live)
{
    name_frames(live);
    tally_clear(&live->window);
    for (PT_EACH(const struct pt_recent, recent, &live->recent))
        if (pt_live_is_in_window(live, recent))
            tally_add(live, &live->window, recent->node, recent->cpu_ns, recent->count);
}
