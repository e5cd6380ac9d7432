/* SPDX-License-Identifier: Apache-2.0 */
#include "call_graph.h"

#include <stdlib.h>

#include "../model/frame_text.h"

struct builder {
    struct pt_profile *profile;
    struct pt_view *view;
    struct pt_call_graph *graph;
    uint32_t *texts;                     /* of frames, without lines */
    uint32_t *function_of, *edge_of;     /* by view node; edge_of PT_NONE at the root */
    uint32_t *function_open, *edge_open; /* how often each is on the path to here */
    bool lines;
};

PT_DEFINE_ADD(static uint32_t add_function, struct pt_call_graph, functions, struct pt_call_function, item->text)
PT_DEFINE_ADD(static uint32_t add_line, struct pt_call_graph, lines, struct pt_call_line, item->function,
              item->place.source, item->place.line)
PT_DEFINE_ADD(static uint32_t add_edge, struct pt_call_graph, edges, struct pt_call_edge, item->caller,
              item->place.source, item->place.line, item->callee)

static struct pt_call_place place_of(const struct builder *builder, uint32_t at)
{
    uint32_t number = builder->view->nodes.items[at].frame;
    if (!builder->lines || number == PT_NONE)
        return (struct pt_call_place){0};
    const struct pt_frame *frame = &builder->profile->frames.items[number];
    return (struct pt_call_place){frame->source, frame->line};
}

static void number_nodes(struct builder *builder)
{
    const struct pt_view *view = builder->view;
    struct pt_call_graph *graph = builder->graph;
    builder->edge_of[0] = PT_NONE;
    for (uint32_t at = pt_view_next(view, 0, 0); at != PT_NONE; at = pt_view_next(view, at, 0)) {
        const struct pt_view_node *node = &view->nodes.items[at];
        const struct pt_call_function called = {.text = builder->texts[node->frame], .frame = node->frame};
        uint32_t function = add_function(graph, &called);
        builder->function_of[at] = function;
        builder->edge_of[at] = PT_NONE;
        if (node->parent) {
            const struct pt_call_edge edge = {.caller = builder->function_of[node->parent],
                                              .callee = function,
                                              .place = place_of(builder, node->parent)};
            builder->edge_of[at] = add_edge(graph, &edge);
        }
        if (node->count || node->ns) {
            uint32_t number =
                add_line(graph, &(struct pt_call_line){.function = function, .place = place_of(builder, at)});
            struct pt_call_line *line = &graph->lines.items[number];
            line->self_count += node->count;
            line->self_ns += node->ns;
        }
    }
}

static void add(struct pt_call_weight *weight, const struct pt_view_node *node, bool first)
{
    weight->self_count += node->count;
    weight->self_ns += node->ns;
    if (first) {
        weight->total_count += node->total_count;
        weight->total_ns += node->total_ns;
    }
}

static void enter(struct builder *builder, uint32_t at)
{
    const struct pt_view_node *node = &builder->view->nodes.items[at];
    uint32_t function = builder->function_of[at], edge = builder->edge_of[at];
    add(&builder->graph->functions.items[function].weight, node, !builder->function_open[function]++);
    if (edge != PT_NONE)
        add(&builder->graph->edges.items[edge].weight, node, !builder->edge_open[edge]++);
}

static void leave(struct builder *builder, uint32_t at)
{
    builder->function_open[builder->function_of[at]]--;
    if (builder->edge_of[at] != PT_NONE)
        builder->edge_open[builder->edge_of[at]]--;
}

static void weigh(struct builder *builder)
{
    const struct pt_view *view = builder->view;
    uint32_t last = 0;
    for (uint32_t at = pt_view_next(view, 0, 0); at != PT_NONE; at = pt_view_next(view, at, 0)) {
        for (; last != view->nodes.items[at].parent; last = view->nodes.items[last].parent)
            leave(builder, last);
        enter(builder, at);
        last = at;
    }
}

struct pt_call_graph *pt_call_graph_new(struct pt_profile *profile, bool lines)
{
    const struct pt_view_options options = {.lines = lines, .only_process = PT_NONE, .only_thread = PT_NONE};
    struct builder builder = {.profile = profile, .lines = lines, .graph = pt_alloc(1, sizeof *builder.graph)};
    builder.view = pt_view_new(profile, &options);
    builder.texts = pt_frame_texts(profile, false);
    builder.function_of = pt_alloc(builder.view->nodes.count, sizeof *builder.function_of);
    builder.edge_of = pt_alloc(builder.view->nodes.count, sizeof *builder.edge_of);
    number_nodes(&builder);
    builder.function_open = pt_alloc(builder.graph->functions.count, sizeof *builder.function_open);
    builder.edge_open = pt_alloc(builder.graph->edges.count, sizeof *builder.edge_open);
    weigh(&builder);
    free(builder.function_open);
    free(builder.edge_open);
    free(builder.function_of);
    free(builder.edge_of);
    free(builder.texts);
    pt_view_free(builder.view);
    return builder.graph;
}

void pt_call_graph_free(struct pt_call_graph *graph)
{
    PT_FREE_TABLE(&graph->functions);
    PT_FREE_TABLE(&graph->lines);
    PT_FREE_TABLE(&graph->edges);
    free(graph);
}
