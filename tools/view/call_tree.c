/* SPDX-License-Identifier: Apache-2.0 */
#include "call_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../model/frame_text.h"
#include "../model/gil_gc.h"

struct builder {
    struct pt_profile *profile;
    struct pt_view *view;
    uint32_t *texts; /* by frame */
    /* The node of the view, by node of the profile, under the prefix that it was last looked up for. */
    uint32_t *place, *place_prefix;
    uint32_t *path;
    uint32_t path_capacity;
};

PT_DEFINE_ADD(static uint32_t add, struct pt_view, nodes, struct pt_view_node, item->parent, item->text)

static uint32_t add_node(struct pt_view *view, uint32_t parent, uint32_t text, uint32_t frame)
{
    return add(view, &(struct pt_view_node){.parent = parent, .text = text, .frame = frame});
}

static uint32_t place_of(struct builder *builder, uint32_t prefix, uint32_t number)
{
    uint32_t depth = 0, place = prefix;
    while (number) {
        if (builder->place_prefix[number] == prefix) {
            place = builder->place[number];
            break;
        }
        builder->path = pt_grow(builder->path, &builder->path_capacity, (uint64_t)depth + 1, sizeof *builder->path);
        builder->path[depth++] = number;
        number = builder->profile->nodes.items[number].parent;
    }
    while (depth--) {
        number = builder->path[depth];
        uint32_t frame = builder->profile->nodes.items[number].frame;
        place = add_node(builder->view, place, builder->texts[frame], frame);
        builder->place[number] = place;
        builder->place_prefix[number] = prefix;
    }
    return place;
}

void pt_thread_text(struct pt_buffer *text, const struct pt_profile *profile, uint32_t number)
{
    const struct pt_thread *thread = &profile->threads.items[number];
    const char *name = pt_string(profile, thread->name);
    pt_buffer_text(text, *name ? name : "thread");
    if (thread->tid && thread->tid != UINT64_MAX)
        pt_buffer_format(text, " (%" PRIu64 ")", thread->tid);
}

void pt_thread_of_process_text(struct pt_buffer *text, const struct pt_profile *profile, uint32_t number)
{
    pt_thread_text(text, profile, number);
    if (profile->processes.count > 1)
        pt_buffer_format(text, " of process %" PRIu64,
                         profile->processes.items[profile->threads.items[number].process].pid);
}

void pt_process_text(struct pt_buffer *text, const struct pt_profile *profile, uint32_t number)
{
    const struct pt_process *process = &profile->processes.items[number];
    pt_buffer_format(text, "%" PRIu64 " %s", process->pid, pt_string(profile, process->command_line));
}

/* Returns the view's node for the process, thread and GIL of a sample, as requested. */
static uint32_t prefix_of(struct builder *builder, const struct pt_view_options *options,
                          const struct pt_sample *sample)
{
    uint32_t thread = sample->thread;
    PT_AUTO_BUFFER text = {0};
    uint32_t prefix = 0;
    if (options->processes) {
        pt_buffer_text(&text, "process ");
        pt_process_text(&text, builder->profile, builder->profile->threads.items[thread].process);
        prefix = add_node(builder->view, prefix, pt_intern_text(builder->profile, text.data), PT_NONE);
        pt_buffer_clear(&text);
    }
    if (options->threads) {
        pt_buffer_text(&text, "thread ");
        pt_thread_text(&text, builder->profile, thread);
        prefix = add_node(builder->view, prefix, pt_intern_text(builder->profile, text.data), PT_NONE);
    }
    if (options->gil)
        prefix = add_node(builder->view, prefix,
                          pt_intern_text(builder->profile, pt_gil_text(sample->state, "GIL unknown")), PT_NONE);
    return prefix;
}

static uint32_t gil_state(const struct pt_sample *sample)
{
    return sample->state & (PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL);
}

PT_DEFINE_ORDER(by_prefix, struct pt_sample, pt_compare(x->thread, y->thread) ?: pt_compare(gil_state(x), gil_state(y)))

static void add_samples(struct builder *builder, const struct pt_view_options *options)
{
    const struct pt_profile *profile = builder->profile;
    bool prefixes = options->processes || options->threads || options->gil;
    PT_AUTO_FREE struct pt_sample *copy = NULL;
    if (prefixes) { /* so that a node's place is looked up once per prefix, not once per sample */
        copy = pt_copy(profile->samples.items, profile->samples.count, sizeof *copy);
        qsort(copy, profile->samples.count, sizeof *copy, by_prefix);
    }
    const struct pt_sample *samples = copy ? copy : profile->samples.items;
    const struct pt_sample *last = NULL; /* the one that the prefix was made for */
    uint32_t prefix = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &samples[i];
        if (options->only_thread != PT_NONE && sample->thread != options->only_thread)
            continue;
        if (options->only_process != PT_NONE && profile->threads.items[sample->thread].process != options->only_process)
            continue;
        if (prefixes && (!last || by_prefix(last, sample) != 0))
            prefix = prefix_of(builder, options, last = sample);
        uint32_t place = place_of(builder, prefix, sample->node);
        builder->view->nodes.items[place].count += sample->count;
        builder->view->nodes.items[place].ns += sample->cpu_ns;
    }
}

struct texts {
    const struct pt_profile *profile;
    const struct pt_view_node *nodes;
};

static int by_text(const void *a, const void *b, void *data)
{
    const struct texts *of = data;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = strcmp(pt_string(of->profile, of->nodes[x].text), pt_string(of->profile, of->nodes[y].text));
    return order ? order : (x > y) - (x < y);
}

/* Adds totals up and links the children of each node in the order of their texts. */
static void link_nodes(const struct pt_profile *profile, struct pt_view *view)
{
    uint32_t count = view->nodes.count;
    struct pt_view_node *nodes = view->nodes.items;
    PT_AUTO_FREE uint32_t *order = pt_alloc(count, sizeof *order);
    view->first_child = pt_alloc(count, sizeof *view->first_child);
    view->next_sibling = pt_alloc(count, sizeof *view->next_sibling);
    for (uint32_t i = count; i--;) {
        nodes[i].total_count += nodes[i].count;
        nodes[i].total_ns += nodes[i].ns;
        if (i) {
            nodes[nodes[i].parent].total_count += nodes[i].total_count;
            nodes[nodes[i].parent].total_ns += nodes[i].total_ns;
        }
        order[i] = i;
        view->first_child[i] = view->next_sibling[i] = PT_NONE;
    }
    qsort_r(order, count, sizeof *order, by_text, &(struct texts){profile, nodes});
    for (uint32_t i = count; i--;) {
        uint32_t number = order[i];
        if (!number)
            continue;
        view->next_sibling[number] = view->first_child[nodes[number].parent];
        view->first_child[nodes[number].parent] = number;
    }
}

struct pt_view *pt_view_new(struct pt_profile *profile, const struct pt_view_options *options)
{
    struct pt_view *view = pt_alloc(1, sizeof *view);
    struct builder builder = {.profile = profile, .view = view, .texts = pt_frame_texts(profile, options->lines)};
    builder.place = pt_alloc(profile->nodes.count, sizeof *builder.place);
    builder.place_prefix = pt_alloc(profile->nodes.count, sizeof *builder.place_prefix);
    memset(builder.place_prefix, 0xff, profile->nodes.count * sizeof *builder.place_prefix);
    add_node(view, PT_NONE, 0, PT_NONE);
    add_samples(&builder, options);
    link_nodes(profile, view);
    free(builder.texts);
    free(builder.place);
    free(builder.place_prefix);
    free(builder.path);
    return view;
}

void pt_view_free(struct pt_view *view)
{
    if (!view)
        return;
    PT_FREE_TABLE(&view->nodes);
    free(view->first_child);
    free(view->next_sibling);
    free(view);
}

uint32_t pt_view_next(const struct pt_view *view, uint32_t at, uint32_t top)
{
    if (view->first_child[at] != PT_NONE)
        return view->first_child[at];
    while (at != top && view->next_sibling[at] == PT_NONE)
        at = view->nodes.items[at].parent;
    return at == top ? PT_NONE : view->next_sibling[at];
}

static int by_self(const void *a, const void *b, void *profile)
{
    const struct pt_total *x = a, *y = b;
    return pt_compare(y->self_ns, x->self_ns)
               ?: pt_compare(y->total_ns, x->total_ns)
                      ?: strcmp(pt_string(profile, x->text), pt_string(profile, y->text));
}

struct pt_total *pt_view_totals(const struct pt_profile *profile, const struct pt_view *view, uint32_t *count)
{
    struct pt_total *by_string = pt_alloc(profile->strings.count, sizeof *by_string);
    uint32_t *open = pt_alloc(profile->strings.count, sizeof *open); /* how often a text is on the path to here */
    uint32_t last = 0;
    for (uint32_t at = pt_view_next(view, 0, 0); at != PT_NONE; at = pt_view_next(view, at, 0)) {
        const struct pt_view_node *node = &view->nodes.items[at];
        struct pt_total *total = &by_string[node->text];
        for (; last != node->parent; last = view->nodes.items[last].parent)
            open[view->nodes.items[last].text]--;
        bool outermost = !open[node->text]++;
        last = at;
        if (node->frame == PT_NONE)
            continue;
        total->text = node->text;
        total->frame = node->frame;
        total->self_count += node->count;
        total->self_ns += node->ns;
        total->total_count += outermost ? node->total_count : 0;
        total->total_ns += outermost ? node->total_ns : 0;
    }
    free(open);
    *count = 0;
    for (uint32_t i = 0; i < profile->strings.count; i++)
        if (by_string[i].total_ns || by_string[i].total_count)
            by_string[(*count)++] = by_string[i];
    qsort_r(by_string, *count, sizeof *by_string, by_self, (void *)profile);
    return by_string;
}
