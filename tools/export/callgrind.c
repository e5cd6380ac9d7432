/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For kcachegrind, qcachegrind and callgrind_annotate. Calls are samples; inclusive costs of recursive functions are
 * those readers' business (they find the cycles).
 */
#include <inttypes.h>

#include "../view/summary.h"
#include "call_graph.h"
#include "export.h"
#include "frames.h"

#define UNKNOWN "???" /* valgrind's own word for a file that is not known */

struct writer {
    struct pt_profile *profile;
    const struct pt_call_graph *graph;
    FILE *out;
    struct pt_numbering files, objects, functions; /* what has been named: a name is written once */
    uint32_t source;                               /* the file that the reader is in */
    struct pt_buffer text;
};

static void put_name(struct writer *writer, const char *key, struct pt_numbering *names, uint32_t number,
                     const char *text)
{
    uint32_t before = names->count;
    fprintf(writer->out, "%s=(%" PRIu32 ")", key, pt_number(names, number));
    if (names->count != before) {
        pt_buffer_clear(&writer->text);
        pt_append_plain(&writer->text, text, "");
        fprintf(writer->out, " %s", writer->text.data);
    }
    putc('\n', writer->out);
}

/* Sets *source to the file in which the function's lines are, unless they say something else. */
static uint32_t put_function(struct writer *writer, uint32_t function, bool called, uint32_t *source)
{
    uint32_t frame = writer->graph->functions.items[function].frame;
    struct pt_frame_parts parts = pt_frame_parts_of(writer->profile, frame, false);
    bool python = parts.kind == PP_FRAME_PYTHON;
    uint32_t object = python ? pt_intern_text(writer->profile, "python") : parts.file;
    uint32_t file = python ? parts.file : writer->profile->frames.items[frame].source;
    if (!file)
        file = pt_intern_text(writer->profile, UNKNOWN);
    *source = file;
    if (!object)
        object = pt_intern_text(writer->profile, UNKNOWN);
    put_name(writer, called ? "cob" : "ob", &writer->objects, object, pt_string(writer->profile, object));
    put_name(writer, called ? "cfi" : "fl", &writer->files, file, pt_string(writer->profile, file));
    put_name(writer, called ? "cfn" : "fn", &writer->functions, function, pt_string(writer->profile, parts.name));
    return parts.line;
}

/* A function's lines that are not in its own file are announced: of code that was included. */
static void put_source(struct writer *writer, uint32_t source)
{
    if (source && source != writer->source)
        put_name(writer, "fi", &writer->files, source, pt_string(writer->profile, source));
    writer->source = source ? source : writer->source;
}

static void put_calls(struct writer *writer, const struct pt_call_edge *edge)
{
    uint32_t source;
    put_source(writer, edge->place.source);
    uint32_t line = put_function(writer, edge->callee, true, &source);
    fprintf(writer->out, "calls=%" PRIu64 " %" PRIu32 "\n%" PRIu32 " %" PRIu64 " %" PRIu64 "\n",
            edge->weight.total_count, line, edge->place.line, edge->weight.total_ns, edge->weight.total_count);
}

static void put_header(struct writer *writer)
{
    const struct pt_process *process = &writer->profile->processes.items[0];
    pt_append_plain(&writer->text, pt_string(writer->profile, process->command_line), "");
    fprintf(writer->out, "# callgrind format\nversion: 1\ncreator: pyprof\npid: %" PRIu64 "\ncmd: %s\npart: 1\n",
            process->pid, writer->text.data);
    pt_buffer_clear(&writer->text);
    pt_summary_append_accounting(writer->profile, &writer->text);
    fprintf(writer->out, "desc: Accounting: %s\n", writer->text.data);
    fputs("positions: line\nevent: CPU_ns : CPU time in nanoseconds\nevent: Samples : samples taken\n"
          "events: CPU_ns Samples\n",
          writer->out);
}

void pt_export_callgrind(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    (void)options;
    struct pt_call_graph *graph = pt_call_graph_new(profile, true);
    struct writer writer = {.profile = profile, .graph = graph, .out = out};
    uint32_t functions = graph->functions.count, edge = 0, line = 0;
    PT_AUTO_FREE uint32_t *edges = PT_GROUP(&graph->edges, caller, functions, NULL),
                          *lines = PT_GROUP(&graph->lines, function, functions, NULL);
    uint64_t count = 0, ns = 0;
    put_header(&writer);
    for (uint32_t i = 0; i < graph->lines.count; i++) {
        count += graph->lines.items[i].self_count;
        ns += graph->lines.items[i].self_ns;
    }
    fprintf(out, "summary: %" PRIu64 " %" PRIu64 "\n", ns, count);
    for (uint32_t i = 0; i < graph->functions.count; i++) {
        putc('\n', out);
        put_function(&writer, i, false, &writer.source);
        for (; line < graph->lines.count && graph->lines.items[lines[line]].function == i; line++) {
            const struct pt_call_line *self = &graph->lines.items[lines[line]];
            put_source(&writer, self->place.source);
            fprintf(out, "%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", self->place.line, self->self_ns, self->self_count);
        }
        for (; edge < graph->edges.count && graph->edges.items[edges[edge]].caller == i; edge++)
            put_calls(&writer, &graph->edges.items[edges[edge]]);
    }
    fprintf(out, "\ntotals: %" PRIu64 " %" PRIu64 "\n", ns, count);
    pt_numbering_free(&writer.files);
    pt_numbering_free(&writer.objects);
    pt_numbering_free(&writer.functions);
    pt_buffer_free(&writer.text);
    pt_call_graph_free(graph);
}
