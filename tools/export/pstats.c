/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Python's own pstats reads: a marshalled dict
 *     {(file, line, name): (primitive calls, calls, own time, time, {caller's key: (…same four…)})}
 * in codes that every version of CPython reads (no references, no small tuples). There are no calls in samples: in
 * their place is the number of samples with the function on the stack, recursion counted once, so that times per call
 * are about those between two samples. Seconds are doubles: exact to a nanosecond up to a hundred days.
 */
#include <stdlib.h>
#include <string.h>

#include "../view/summary.h"
#include "call_graph.h"
#include "export.h"
#include "frames.h"

#define LARGEST_INT   0x7fffffffu
#define DIGIT_BITS    15 /* of marshal's long integers */
#define NS_PER_SECOND 1e9

struct writer {
    struct pt_profile *profile;
    const struct pt_call_graph *graph;
    FILE *out;
    bool samples;
};

static void put_bytes(struct writer *writer, uint64_t value, int bytes)
{
    for (; bytes--; value >>= 8)
        putc((int)(value & 0xff), writer->out);
}

static void put_int(struct writer *writer, uint64_t value)
{
    if (value <= LARGEST_INT) {
        putc('i', writer->out);
        put_bytes(writer, value, 4);
        return;
    }
    uint32_t digits = 0;
    for (uint64_t rest = value; rest; rest >>= DIGIT_BITS)
        digits++;
    putc('l', writer->out);
    put_bytes(writer, digits, 4);
    for (; value; value >>= DIGIT_BITS)
        put_bytes(writer, value & ((1u << DIGIT_BITS) - 1), 2);
}

static void put_time(struct writer *writer, uint64_t count, uint64_t ns)
{
    double seconds = writer->samples ? (double)count : (double)ns / NS_PER_SECOND;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    putc('g', writer->out);
    put_bytes(writer, bits, 8);
}

static void put_text(struct writer *writer, const char *text)
{
    size_t length = strlen(text);
    putc('u', writer->out);
    put_bytes(writer, length, 4);
    fwrite(text, 1, length, writer->out);
}

static void put_tuple(struct writer *writer, uint32_t items)
{
    putc('(', writer->out);
    put_bytes(writer, items, 4);
}

/* ("~", 0, "<name>") prints as {name}. */
static void put_built_in(struct writer *writer, const char *name)
{
    PT_AUTO_BUFFER text = pt_formatted("<%s>", name);
    put_text(writer, "~");
    put_int(writer, 0);
    put_text(writer, text.data);
}

/* Native functions are written like built-in ones. */
static void put_key(struct writer *writer, uint32_t function)
{
    const struct pt_call_function *from = &writer->graph->functions.items[function];
    struct pt_frame_parts parts = pt_frame_parts_of(writer->profile, from->frame, false);
    put_tuple(writer, 3);
    if (parts.kind == PP_FRAME_PYTHON) {
        put_text(writer, pt_string(writer->profile, parts.file));
        put_int(writer, parts.line);
        put_text(writer, pt_string(writer->profile, parts.name));
        return;
    }
    put_built_in(writer, pt_string(writer->profile, from->text));
}

static void put_weight(struct writer *writer, const struct pt_call_weight *weight)
{
    put_int(writer, weight->total_count);
    put_int(writer, weight->total_count);
    put_time(writer, weight->self_count, weight->self_ns);
    put_time(writer, weight->total_count, weight->total_ns);
}

void pt_export_pstats(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    struct pt_call_graph *graph = pt_call_graph_new(profile, false);
    struct writer writer = {.profile = profile, .graph = graph, .out = out, .samples = options->samples};
    uint32_t *edges = PT_GROUP(&graph->edges, callee, graph->functions.count, NULL), at = 0;
    putc('{', out);
    for (uint32_t i = 0; i < graph->functions.count; i++) {
        put_key(&writer, i);
        put_tuple(&writer, 5);
        put_weight(&writer, &graph->functions.items[i].weight);
        putc('{', out);
        for (; at < graph->edges.count && graph->edges.items[edges[at]].callee == i; at++) {
            put_key(&writer, graph->edges.items[edges[at]].caller);
            put_tuple(&writer, 4);
            put_weight(&writer, &graph->edges.items[edges[at]].weight);
        }
        putc('0', out);
    }
    /* The accounting is a function without time: the format has no place for a text. */
    struct pt_buffer text = {0};
    pt_buffer_text(&text, "accounting: ");
    pt_summary_append_accounting(writer.profile, &text);
    put_tuple(&writer, 3);
    put_built_in(&writer, text.data);
    put_tuple(&writer, 5);
    put_weight(&writer, &(struct pt_call_weight){0});
    fputs("{0", writer.out);
    pt_buffer_free(&text);
    putc('0', out);
    free(edges);
    pt_call_graph_free(graph);
}
