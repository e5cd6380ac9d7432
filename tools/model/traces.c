/* SPDX-License-Identifier: Apache-2.0 */
#include "traces.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/numbers.h"
#include "selection.h"
#include "time_bins.h"

#define MAX_LISTED 8u

PT_DEFINE_ADD(static uint32_t add_trace, struct pt_profile, traces, struct pt_trace, item->id)

/* Returns 0 for zeros: there is no span, or its id is not made yet. */
static uint32_t hex_string(struct pt_profile *profile, const uint8_t *bytes, size_t length)
{
    bool any = false;
    for (size_t i = 0; i < length; i++)
        any |= bytes[i] != 0;
    if (!any)
        return 0;
    PT_AUTO_FREE char *text = pt_hex(bytes, length);
    return pt_intern_text(profile, text);
}

void pt_trace_add(struct pt_profile *profile, uint32_t id, uint64_t cpu_ns, uint64_t samples)
{
    uint32_t number = add_trace(profile, &(struct pt_trace){.id = id});
    struct pt_trace *trace = &profile->traces.items[number];
    trace->cpu_ns += cpu_ns;
    trace->samples += samples;
}

static bool is_asked_for(const struct pt_profile *profile, uint32_t trace)
{
    const char *wanted = profile->request->select.trace;
    return !wanted || strncasecmp(pt_string(profile, trace), wanted, strlen(wanted)) == 0;
}

static uint32_t with_ids(struct pt_profile *profile, uint32_t base, struct pt_trace_ids ids)
{
    const struct pt_label_set set = profile->label_sets.items[base];
    PT_AUTO_FREE struct pt_label *labels = pt_alloc(PT_TRACE_LABELS + set.count, sizeof *labels);
    labels[0] = (struct pt_label){pt_intern_text(profile, PT_TRACE_ID), ids.trace};
    labels[1] = (struct pt_label){pt_intern_text(profile, PT_SPAN_ID), ids.span};
    if (set.count)
        memcpy(&labels[PT_TRACE_LABELS], &profile->labels.items[set.first], set.count * sizeof *labels);
    uint32_t number = pt_add_label_set(profile, labels, PT_TRACE_LABELS + set.count);
    return number & PT_MAX_LABEL_SETS;
}

/* The time in which the sample's CPU time was used, if the thread did not wait meanwhile. */
static struct pt_interval interval_before(const struct pt_profile *profile, const struct pt_log_traced *from)
{
    struct pt_interval interval = {from->unix_ns - from->cpu_ns, from->cpu_ns}, bin;
    if (from->cpu_ns >= from->unix_ns)
        interval = (struct pt_interval){from->unix_ns, 0};
    if (!profile->bin_ns)
        return interval;
    pt_time_slice(profile, &interval, &bin);
    return bin;
}

void pt_traces_accept(struct pt_id_map *ids, const struct pt_segment *segment, const struct pt_log_traced *from)
{
    struct pt_profile *profile = ids->profile;
    const struct pt_load_request *request = profile->request;
    struct pt_trace_ids trace = {hex_string(profile, from->trace, PT_TRACE_BYTES), 0};
    pt_trace_add(profile, trace.trace, from->cpu_ns, 1);
    if (!request->traces || profile->too_many || !is_asked_for(profile, trace.trace) ||
        !pt_clip_interval(profile, pt_id_map_process(ids, segment), &(struct pt_interval){from->unix_ns, 0}))
        return;
    uint32_t thread = pt_id_map_thread(ids, segment, from->thread);
    if (!pt_accepts_thread(profile, thread))
        return;
    trace.span = hex_string(profile, from->span, PT_SPAN_BYTES);
    struct pt_interval interval = interval_before(profile, from);
    uint32_t gc = PP_STATE_GC_KNOWN | PP_STATE_GC;
    struct pt_sample sample = {
        .thread = thread,
        .node = pt_id_map_node(ids, segment, from->node),
        .labels = with_ids(profile, pt_id_map_label_set(ids, segment, from->labels), trace),
        .state = ((request->plain ? from->state & gc : from->state) & PT_MAX_STATES) | PT_STATE_TRACED,
        .interval = pt_add_interval(profile, interval.start_unix_ns, interval.wall_ns),
        .count = 1,
        .cpu_ns = from->cpu_ns,
    };
    pt_add_sample(profile, &sample);
    pt_time_bins_bound(profile);
}

/* Samples by what single ones and sums have in common. */
struct order {
    const struct pt_profile *profile;
    uint32_t *bases; /* by label set: the same without the ids of a single sample */
};

static bool is_traced(const struct pt_sample *sample)
{
    return sample->state & PT_STATE_TRACED;
}

static bool in_common(const struct order *order, const struct pt_sample *a, const struct pt_sample *b)
{
    return a->thread == b->thread && a->node == b->node && order->bases[a->labels] == order->bases[b->labels];
}

/* Single samples come after the sums. */
static int by_stack(const void *a, const void *b, void *data)
{
    const struct order *order = data;
    const uint32_t *first = a, *second = b;
    const struct pt_sample *x = &order->profile->samples.items[*first], *y = &order->profile->samples.items[*second];
    return pt_compare(x->thread, y->thread)
               ?: pt_compare(x->node, y->node)
                      ?: pt_compare(order->bases[x->labels], order->bases[y->labels])
                             ?: pt_compare(is_traced(x), is_traced(y)) ?: pt_compare(*first, *second);
}

static uint32_t *bases_of(struct pt_profile *profile)
{
    uint32_t count = profile->label_sets.count, *bases = pt_alloc(count, sizeof *bases);
    for (uint32_t i = 0; i < count; i++)
        bases[i] = i;
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        const struct pt_label_set set = profile->label_sets.items[sample->labels];
        if (!is_traced(sample) || bases[sample->labels] != sample->labels || set.count < PT_TRACE_LABELS)
            continue;
        PT_AUTO_FREE struct pt_label *labels =
            pt_copy(&profile->labels.items[set.first + PT_TRACE_LABELS], set.count - PT_TRACE_LABELS, sizeof *labels);
        bases[sample->labels] = pt_add_label_set(profile, labels, set.count - PT_TRACE_LABELS);
    }
    return bases;
}

/* Moves up to *wanted from one number to the other. */
static void move(uint64_t *from, uint64_t *to, uint64_t *wanted)
{
    uint64_t moved = *wanted < *from ? *wanted : *from;
    *from -= moved;
    *to += moved;
    *wanted -= moved;
}

void pt_traces_set_apart(struct pt_profile *profile)
{
    struct order order = {.profile = profile};
    uint32_t count = profile->samples.count, *numbers = pt_alloc(count, sizeof *numbers), sums = 0;
    struct pt_sample *samples = profile->samples.items;
    order.bases = bases_of(profile);
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = i;
    qsort_r(numbers, count, sizeof *numbers, by_stack, &order);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_sample *sample = &samples[numbers[i]];
        if (i && !in_common(&order, sample, &samples[numbers[i - 1]]))
            sums = i;
        if (!is_traced(sample))
            continue;
        uint64_t wanted = sample->count, wanted_ns = sample->cpu_ns;
        sample->count = sample->cpu_ns = 0;
        for (uint32_t j = sums; j < i && !is_traced(&samples[numbers[j]]); j++) {
            move(&samples[numbers[j]].count, &sample->count, &wanted);
            move(&samples[numbers[j]].cpu_ns, &sample->cpu_ns, &wanted_ns);
        }
    }
    free(order.bases);
    free(numbers);
}

const char *pt_traces_setting(const struct pt_profile *profile)
{
    const char *kept = "";
    for (uint32_t i = 0; i < profile->processes.count && !*kept; i++)
        kept = pt_string(profile, profile->processes.items[i].traces);
    return kept;
}

/* Says why there is none: nothing was asked to be kept, or nothing that was chosen ran. */
static void say_no_traces(const struct pt_profile *profile)
{
    const char *kept = pt_traces_setting(profile);
    if (*kept)
        pt_message_to(
            profile->request->messages,
            "no sample of a trace was kept: PYPROF_TRACES was %s, and no trace that it selects used enough CPU "
            "to be sampled, or the program's traces are not known ('pyprof info' lists what is known)",
            kept);
    else
        pt_message_to(
            profile->request->messages,
            "no traces were kept: run the program with PYPROF_TRACES=0.01 to keep the samples of one trace in "
            "100, or with PYPROF_TRACES=1 those of all");
}

bool pt_traces_found(const struct pt_profile *profile)
{
    PT_AUTO_BUFFER list = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->traces.count; i++)
        if (is_asked_for(profile, profile->traces.items[i].id) && count++ < MAX_LISTED)
            pt_buffer_format(&list, "%s%s", count > 1 ? ", " : "", pt_string(profile, profile->traces.items[i].id));
    const char *wanted = profile->request->select.trace;
    if (!profile->traces.count)
        say_no_traces(profile);
    else if (!count)
        pt_message_to(profile->request->messages,
                      "--trace %s: none of the %" PRIu32
                      " traces that were kept; 'pyprof report --by trace' lists them",
                      wanted, profile->traces.count);
    else if (wanted && count > 1)
        pt_message_to(profile->request->messages,
                      "--trace %s: %" PRIu32 " traces begin with it; give more digits of: %s%s", wanted, count,
                      list.data, count > MAX_LISTED ? " …" : "");
    return count == 1 || (count && !wanted);
}

const char *pt_trace_asked_for(const struct pt_profile *profile)
{
    uint32_t i = 0;
    while (i < profile->traces.count && !is_asked_for(profile, profile->traces.items[i].id))
        i++;
    return i < profile->traces.count ? pt_string(profile, profile->traces.items[i].id) : profile->request->select.trace;
}

const struct pt_trace *pt_costliest_trace(const struct pt_profile *profile)
{
    const struct pt_trace *most = NULL;
    for (uint32_t i = 0; i < profile->traces.count; i++)
        if (!most || profile->traces.items[i].cpu_ns > most->cpu_ns)
            most = &profile->traces.items[i];
    return most;
}

struct pt_trace_ids pt_trace_ids_of(const struct pt_profile *profile, const struct pt_sample *sample)
{
    const struct pt_label *labels = &profile->labels.items[profile->label_sets.items[sample->labels].first];
    return (struct pt_trace_ids){labels[0].value, labels[1].value};
}

uint64_t pt_sample_unix_ns(const struct pt_profile *profile, const struct pt_sample *sample)
{
    const struct pt_interval *interval = &profile->intervals.items[sample->interval];
    return interval->start_unix_ns + interval->wall_ns;
}
