/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof_labels.h"

#include <stdlib.h>
#include <string.h>

#include "../base/proto.h"
#include "../model/gil_gc.h"
#include "../model/traces.h"

#define EVENT    "source.event."
#define NS_IN_MS 1000000u

enum { SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STRING, LABEL_NUMBER };

static uint64_t string(struct pt_pprof_labels *labels, uint32_t item)
{
    return pt_number_string(labels->strings, item);
}

static uint64_t text(struct pt_pprof_labels *labels, const char *text)
{
    return pt_number_text(labels->strings, labels->profile, text);
}

static void append_label(struct pt_buffer *sample, uint64_t key, uint64_t string_value, uint64_t number_value)
{
    PT_AUTO_BUFFER label = {0};
    pt_proto_number(&label, LABEL_KEY, key);
    pt_proto_number(&label, LABEL_STRING, string_value);
    pt_proto_number(&label, LABEL_NUMBER, number_value);
    if (key && (string_value || number_value))
        pt_proto_bytes(sample, SAMPLE_LABEL, label.data, label.length);
}

static const char *name_key(const struct pt_pprof_labels *labels)
{
    return labels->events ? "thread.name" : "thread";
}

static const char *id_key(const struct pt_pprof_labels *labels)
{
    return labels->events ? "thread.id" : "thread_id";
}

static bool is_reserved_key(const struct pt_pprof_labels *labels, const char *key)
{
    return strcmp(key, name_key(labels)) == 0 || strcmp(key, id_key(labels)) == 0 || strcmp(key, "pid") == 0 ||
           strcmp(key, "gil") == 0 || strcmp(key, "gc") == 0 || strncmp(key, EVENT, sizeof EVENT - 1) == 0;
}

static void append_thread_labels(struct pt_pprof_labels *labels, struct pt_buffer *bytes, uint32_t number)
{
    const struct pt_thread *thread = &labels->profile->threads.items[number];
    append_label(bytes, text(labels, name_key(labels)), string(labels, thread->name), 0);
    if (thread->tid != UINT64_MAX)
        append_label(bytes, text(labels, id_key(labels)), 0, thread->tid);
    append_label(bytes, text(labels, "pid"), 0, labels->profile->processes.items[thread->process].pid);
}

static void append_state_labels(struct pt_pprof_labels *labels, struct pt_buffer *bytes, uint32_t state)
{
    if (state & PP_STATE_GIL_KNOWN)
        append_label(bytes, text(labels, "gil"), text(labels, state & PP_STATE_HOLDS_GIL ? "held" : "not held"), 0);
    if (pt_in_gc(state))
        append_label(bytes, text(labels, "gc"), text(labels, "yes"), 0);
}

/* Returns whether to skip the label: it is an empty id, or a label of the application that would shadow an id. */
static bool is_no_id(const struct pt_profile *profile, const struct pt_label_set *set, uint32_t number)
{
    const struct pt_label *label = &profile->labels.items[number];
    const char *key = pt_string(profile, label->key);
    bool has_ids =
        profile->request->traces && strcmp(pt_string(profile, profile->labels.items[set->first].key), PT_TRACE_ID) == 0;
    return has_ids && (strcmp(key, PT_TRACE_ID) == 0 || strcmp(key, PT_SPAN_ID) == 0) &&
           (!label->value || number >= set->first + PT_TRACE_LABELS);
}

static void append_set_labels(struct pt_pprof_labels *labels, struct pt_buffer *bytes, uint32_t number)
{
    const struct pt_profile *profile = labels->profile;
    const struct pt_label_set *set = &profile->label_sets.items[number];
    for (uint32_t i = set->first; i < set->first + set->count; i++) {
        struct pt_label label = profile->labels.items[i];
        if (!is_reserved_key(labels, pt_string(profile, label.key)) && !is_no_id(profile, set, i))
            append_label(bytes, string(labels, label.key), string(labels, label.value), 0);
    }
}

static struct pt_buffer labels_of(struct pt_pprof_labels *labels, struct pt_encoded *encoded, uint32_t number,
                                  void (*append)(struct pt_pprof_labels *labels, struct pt_buffer *bytes,
                                                 uint32_t number))
{
    encoded->items = pt_grow(encoded->items, &encoded->capacity, (uint64_t)number + 1, sizeof *encoded->items);
    if (!encoded->items[number].data) {
        pt_buffer_text(&encoded->items[number], "");
        append(labels, &encoded->items[number], number);
    }
    return encoded->items[number];
}

void pt_pprof_labels_of(struct pt_pprof_labels *labels, const struct pt_sample *sample)
{
    if (!labels->merged) {
        labels->of_sample[0] = labels_of(labels, &labels->threads, sample->thread, append_thread_labels);
        labels->of_sample[1] = labels_of(labels, &labels->states, sample->state, append_state_labels);
    }
    labels->of_sample[2] = labels_of(labels, &labels->label_sets, sample->labels, append_set_labels);
    if (labels->timed) {
        /* When the sample was taken, in milliseconds. */
        const struct pt_profile *profile = labels->profile;
        uint64_t period_ns = profile->processes.items[profile->threads.items[sample->thread].process].period_ns;
        labels->times.length = 0;
        append_label(&labels->times, text(labels, EVENT "time"), 0, pt_sample_unix_ns(profile, sample) / NS_IN_MS);
        if (labels->events)
            append_label(&labels->times, text(labels, EVENT "period"), 0, period_ns / NS_IN_MS);
    }
    labels->of_sample[3] = labels->times;
}

static void free_encoded(struct pt_encoded *encoded)
{
    for (uint32_t i = 0; i < encoded->capacity; i++)
        pt_buffer_free(&encoded->items[i]);
    free(encoded->items);
}

void pt_pprof_labels_free(struct pt_pprof_labels *labels)
{
    pt_buffer_free(&labels->times);
    free_encoded(&labels->threads);
    free_encoded(&labels->label_sets);
    free_encoded(&labels->states);
}
