/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "../base/numbers.h"
#include "../base/terminal_text.h"
#include "gil_gc.h"
#include "selection.h"

static void add_root(struct pt_profile *profile)
{
    PT_APPEND(&profile->nodes)->frame = PT_NONE;
}

struct pt_profile *pt_profile_new(const struct pt_load_request *request)
{
    static const struct pt_load_request everything = {0};
    struct pt_profile *profile = pt_alloc(1, sizeof *profile);
    profile->request = request ? request : &everything;
    profile->keep = pt_keep_for(profile->request);
    pt_intern(profile, "", 0);
    add_root(profile);
    PT_APPEND(&profile->label_sets);
    PT_APPEND(&profile->intervals);
    return profile;
}

void pt_profile_free(struct pt_profile *profile)
{
    if (!profile)
        return;
    for (uint32_t i = 0; i < profile->strings.count; i++)
        free(profile->strings.items[i]);
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        PT_FREE_TABLE(&profile->processes.items[i].notices);
        PT_FREE_TABLE(&profile->processes.items[i].parts);
        PT_FREE_TABLE(&profile->processes.items[i].usage);
    }
    PT_FREE_TABLE(&profile->strings);
    PT_FREE_TABLE(&profile->modules);
    PT_FREE_TABLE(&profile->functions);
    PT_FREE_TABLE(&profile->frames);
    PT_FREE_TABLE(&profile->nodes);
    PT_FREE_TABLE(&profile->threads);
    PT_FREE_TABLE(&profile->labels);
    PT_FREE_TABLE(&profile->label_sets);
    PT_FREE_TABLE(&profile->intervals);
    PT_FREE_TABLE(&profile->samples);
    PT_FREE_TABLE(&profile->processes);
    PT_FREE_TABLE(&profile->requests);
    PT_FREE_TABLE(&profile->traces);
    free(profile->middleware);
    free(profile->innermost_ns);
    pt_sample_sums_free(&profile->spare_sums);
    pt_sample_sums_free(&profile->whole);
    free(profile);
}

const char *pt_string(const struct pt_profile *profile, uint32_t string)
{
    return string < profile->strings.count ? profile->strings.items[string] : "";
}

/* Returns a copy in which U+FFFD replaces NUL and bytes that are not UTF-8. The caller frees. */
static char *clean_text(const char *text, size_t length)
{
    struct pt_buffer copy = {0}, clean = {0};
    pt_buffer_append(&copy, text, length);
    pt_buffer_text(&clean, "");
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t code;
        bytes = pt_next_character(copy.data + at, &code);
        if (code && code != PT_NO_CHARACTER)
            pt_buffer_append(&clean, copy.data + at, bytes);
        else
            pt_buffer_text(&clean, "\xef\xbf\xbd");
    }
    pt_buffer_free(&copy);
    return clean.data;
}

static bool same_string(const void *strings, uint32_t item, const void *key)
{
    return strcmp(((char *const *)strings)[item], key) == 0;
}

uint32_t pt_intern_text(struct pt_profile *profile, const char *text)
{
    return PT_FIND_OR_APPEND(&profile->strings, pt_hash_bytes(text, strlen(text)), same_string, text, pt_strdup(text));
}

uint32_t pt_intern(struct pt_profile *profile, const char *text, size_t length)
{
    PT_AUTO_FREE char *clean = clean_text(text, length);
    return pt_intern_text(profile, clean);
}

PT_DEFINE_ADD(uint32_t pt_add_module, struct pt_profile, modules, struct pt_module, item->path, item->build_id,
              item->start, item->limit, item->file_offset, item->flags)
PT_DEFINE_ADD(uint32_t pt_add_function, struct pt_profile, functions, struct pt_function, item->name, item->file,
              item->first_line)
PT_DEFINE_ADD(uint32_t pt_add_frame, struct pt_profile, frames, struct pt_frame, item->kind, item->subject,
              item->address, item->symbol, item->line, item->end_line, item->column, item->end_column, item->source,
              item->inlined_into)
PT_DEFINE_ADD(static uint32_t add_node, struct pt_profile, nodes, struct pt_node, item->parent, item->frame)
PT_DEFINE_ADD(static uint32_t add_thread, struct pt_profile, threads, struct pt_thread, item->process, item->tid,
              item->start_unix_ns, item->flags &PP_THREAD_NAMED ? item->name : 0)
PT_DEFINE_ADD(static uint32_t add_interval, struct pt_profile, intervals, struct pt_interval, item->start_unix_ns,
              item->wall_ns)
PT_DEFINE_IDENTITY(samples, struct pt_sample, item->thread, item->node, item->labels, item->state, item->interval)
PT_DEFINE_ADD(static uint32_t add_process, struct pt_profile, processes, struct pt_process, item->instance)

uint32_t pt_add_node(struct pt_profile *profile, uint32_t parent, uint32_t frame)
{
    return add_node(profile, &(struct pt_node){parent, frame});
}

struct pt_node *pt_take_nodes(struct pt_profile *profile, uint32_t *count)
{
    struct pt_node *nodes = profile->nodes.items;
    *count = profile->nodes.count;
    pt_index_free(&profile->nodes.index);
    profile->nodes.items = NULL;
    profile->nodes.count = profile->nodes.capacity = 0;
    add_root(profile);
    return nodes;
}

uint32_t pt_add_thread(struct pt_profile *profile, const struct pt_thread *thread)
{
    uint32_t number = add_thread(profile, thread);
    struct pt_thread *known = &profile->threads.items[number];
    if (thread->name)
        known->name = thread->name;
    known->flags |= thread->flags;
    return number;
}

uint32_t pt_add_interval(struct pt_profile *profile, uint64_t start_unix_ns, uint64_t wall_ns)
{
    return add_interval(profile, &(struct pt_interval){start_unix_ns, wall_ns});
}

void pt_append_sample(struct pt_profile *profile, const struct pt_sample *sample)
{
    profile->samples.items = pt_grow_raw(profile->samples.items, &profile->samples.capacity,
                                         (uint64_t)profile->samples.count + 1, sizeof *sample);
    profile->samples.items[profile->samples.count++] = *sample;
}

void pt_add_sample(struct pt_profile *profile, const struct pt_sample *sample)
{
    for (uint32_t i = profile->samples.index.count; i < profile->samples.count; i++)
        pt_index_add(&profile->samples.index, samples_hash(&profile->samples.items[i]), i);
    uint32_t hash = samples_hash(sample);
    uint32_t number = pt_index_find(&profile->samples.index, hash, samples_same, profile->samples.items, sample);
    if (number != PT_NONE) {
        profile->samples.items[number].count += sample->count;
        profile->samples.items[number].cpu_ns += sample->cpu_ns;
        return;
    }
    pt_append_sample(profile, sample);
    pt_index_add(&profile->samples.index, hash, profile->samples.count - 1);
}

void pt_add_stack(struct pt_profile *profile, const struct pt_sample *sample)
{
    struct pt_sample stack = *sample;
    stack.thread = PT_NONE;
    stack.state = pt_in_gc(sample->state) ? PP_STATE_GC_KNOWN | PP_STATE_GC : 0;
    pt_add_sample(profile, &stack);
}

void pt_add_busy(struct pt_profile *profile, uint32_t thread, uint32_t state, uint32_t interval, uint64_t cpu_ns)
{
    const struct pt_sample busy = {.thread = thread,
                                   .state = state & (PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL),
                                   .interval = interval,
                                   .cpu_ns = cpu_ns};
    if (cpu_ns)
        pt_add_sample(profile, &busy);
}

void pt_add_as_kept(struct pt_profile *profile, const struct pt_sample *sample)
{
    if (sample->thread == PT_NONE)
        pt_add_stack(profile, sample);
    else if (profile->keep == PT_KEEP_STACKS)
        pt_add_busy(profile, sample->thread, sample->state, sample->interval, sample->cpu_ns);
    else
        pt_add_sample(profile, sample);
}

struct pt_sample *pt_take_samples(struct pt_profile *profile, uint32_t *count)
{
    struct pt_sample *samples = profile->samples.items;
    *count = profile->samples.count;
    pt_index_free(&profile->samples.index);
    profile->samples.items = NULL;
    profile->samples.count = profile->samples.capacity = 0;
    return samples;
}

void pt_put_whole(struct pt_profile *profile)
{
    struct pt_log_sample sum;
    for (uint64_t at = 0; pt_sample_sums_next(&profile->whole, &at, &sum);) {
        const struct pt_sample sample = {.thread = sum.thread,
                                         .node = sum.node,
                                         .labels = sum.labels & PT_MAX_LABEL_SETS,
                                         .state = sum.state & PT_MAX_STATES,
                                         .count = sum.count,
                                         .cpu_ns = sum.cpu_ns};
        pt_append_sample(profile, &sample);
    }
    pt_sample_sums_clear(&profile->whole);
}

const struct pt_sample *pt_retake_samples(struct pt_profile *profile, uint32_t *count)
{
    uint32_t capacity = profile->samples.capacity;
    profile->samples.items = pt_take_samples(profile, count);
    profile->samples.capacity = capacity;
    return profile->samples.items;
}

uint32_t pt_add_process(struct pt_profile *profile, uint32_t instance)
{
    return add_process(profile, &(struct pt_process){.instance = instance});
}

uint32_t pt_add_pseudo(struct pt_profile *profile, const char *text)
{
    return pt_add_frame(profile, &(struct pt_frame){.kind = PP_FRAME_PSEUDO, .subject = pt_intern_text(profile, text)});
}

struct label_key {
    const struct pt_label *labels;
    uint32_t count;
};

static bool same_labels(const void *table, uint32_t item, const void *key)
{
    const struct pt_profile *profile = table;
    const struct label_key *wanted = key;
    const struct pt_label_set *set = &profile->label_sets.items[item];
    return set->count == wanted->count &&
           memcmp(&profile->labels.items[set->first], wanted->labels, set->count * sizeof *wanted->labels) == 0;
}

uint32_t pt_add_label_set(struct pt_profile *profile, const struct pt_label *labels, uint32_t count)
{
    if (!count)
        return 0;
    struct label_key key = {labels, count};
    uint32_t hash = pt_hash_bytes(labels, count * sizeof *labels);
    uint32_t found = pt_index_find(&profile->label_sets.index, hash, same_labels, profile, &key);
    if (found != PT_NONE)
        return found;
    *PT_APPEND(&profile->label_sets) = (struct pt_label_set){profile->labels.count, count};
    for (uint32_t i = 0; i < count; i++)
        *PT_APPEND(&profile->labels) = labels[i];
    pt_index_add(&profile->label_sets.index, hash, profile->label_sets.count - 1);
    return profile->label_sets.count - 1;
}

struct life {
    uint64_t start_unix_ns, end_unix_ns;
};

PT_DEFINE_ORDER(by_start, struct life, pt_compare(x->start_unix_ns, y->start_unix_ns))

/* Returns the time in which at least one of the processes ran: what was between two runs is no time of a program. */
static uint64_t wall_ns(const struct pt_profile *profile)
{
    uint32_t count = profile->processes.count;
    uint64_t sum = 0, until = 0;
    PT_AUTO_FREE struct life *lives = pt_alloc(count, sizeof *lives);
    for (uint32_t i = 0; i < count; i++)
        lives[i] = (struct life){profile->processes.items[i].start_unix_ns, profile->processes.items[i].end_unix_ns};
    qsort(lives, count, sizeof *lives, by_start);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t from = lives[i].start_unix_ns > until ? lives[i].start_unix_ns : until;
        if (!lives[i].start_unix_ns || lives[i].end_unix_ns <= from)
            continue;
        sum += lives[i].end_unix_ns - from;
        until = lives[i].end_unix_ns;
    }
    return sum;
}

struct pt_accounting pt_profile_accounting(const struct pt_profile *profile)
{
    struct pt_accounting sum = {0};
    for (uint32_t i = 0; i < profile->processes.count; i++)
        pt_accounting_add(&sum, &profile->processes.items[i].accounting);
    sum.wall_ns = wall_ns(profile);
    return sum;
}

uint64_t pt_profile_cpu_ns(const struct pt_profile *profile)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++)
        sum += profile->samples.items[i].cpu_ns;
    return sum;
}

void pt_profile_span(const struct pt_profile *profile, uint64_t *start_unix_ns, uint64_t *end_unix_ns)
{
    *start_unix_ns = *end_unix_ns = 0;
    for (PT_EACH(const struct pt_process, process, &profile->processes)) {
        if (process->start_unix_ns && (!*start_unix_ns || process->start_unix_ns < *start_unix_ns))
            *start_unix_ns = process->start_unix_ns;
        if (process->end_unix_ns > *end_unix_ns)
            *end_unix_ns = process->end_unix_ns;
    }
}
