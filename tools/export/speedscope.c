/* One profile per thread, chosen in speedscope by a menu: the format has no tree of processes. */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/json.h"
#include "../cli/options.h"
#include "../view/call_tree.h"
#include "../view/summary.h"
#include "export.h"
#include "frames.h"

struct writer {
    struct pt_profile *profile;
    const struct pt_view *view;
    const struct pt_export_options *options;
    FILE *out;
    uint32_t *number_of_text; /* place among the frames + 1 */
    uint32_t *stack;
    uint32_t stack_capacity;
};

static void put_frames(struct writer *writer)
{
    uint32_t count = 0;
    fputs("\"shared\":{\"frames\":[", writer->out);
    for (uint32_t i = 1; i < writer->view->nodes.count; i++) {
        const struct pt_view_node *node = &writer->view->nodes.items[i];
        if (node->frame == PT_NONE || writer->number_of_text[node->text])
            continue;
        struct pt_frame_parts parts = pt_frame_parts_of(writer->profile, node->frame, writer->options->lines);
        fputs(count ? ",\n{\"name\":" : "\n{\"name\":", writer->out);
        pt_json_text(writer->out, pt_string(writer->profile, parts.name));
        if (parts.file) {
            fputs(",\"file\":", writer->out);
            pt_json_text(writer->out, pt_string(writer->profile, parts.file));
        }
        if (parts.line)
            fprintf(writer->out, ",\"line\":%" PRIu32, parts.line);
        putc('}', writer->out);
        writer->number_of_text[node->text] = ++count;
    }
    fputs("]},\n", writer->out);
}

static void put_stack(struct writer *writer, uint32_t at)
{
    uint32_t depth = 0, length = 0;
    for (uint32_t i = at; writer->view->nodes.items[i].frame != PT_NONE; i = writer->view->nodes.items[i].parent)
        depth++;
    writer->stack = pt_grow(writer->stack, &writer->stack_capacity, (uint64_t)depth + 1, sizeof *writer->stack);
    for (; length < depth; length++, at = writer->view->nodes.items[at].parent)
        writer->stack[depth - 1 - length] = writer->number_of_text[writer->view->nodes.items[at].text] - 1;
    pt_json_numbers(writer->out, writer->stack, depth);
}

/* The stacks below the node of a thread. */
static void put_samples(struct writer *writer, uint32_t top)
{
    const struct pt_view *view = writer->view;
    struct pt_buffer weights = {0};
    uint64_t sum = 0;
    fputs("\"samples\":[", writer->out);
    for (uint32_t at = pt_view_next(view, top, top); at != PT_NONE; at = pt_view_next(view, at, top)) {
        const struct pt_view_node *node = &view->nodes.items[at];
        uint64_t weight = writer->options->samples ? node->count : node->ns;
        if (!weight)
            continue;
        if (sum)
            fputs(",\n", writer->out);
        put_stack(writer, at);
        pt_buffer_format(&weights, "%s%" PRIu64, sum ? "," : "", weight);
        sum += weight;
    }
    fprintf(writer->out, "],\n\"weights\":[%s],\"startValue\":0,\"endValue\":%" PRIu64,
            weights.data ? weights.data : "", sum);
    pt_buffer_free(&weights);
}

static void put_profiles(struct writer *writer)
{
    const struct pt_view *view = writer->view;
    bool many = writer->profile->processes.count > 1, first = true;
    fputs("\"profiles\":[", writer->out);
    for (uint32_t process = view->first_child[0]; process != PT_NONE; process = view->next_sibling[process]) {
        for (uint32_t at = view->first_child[process]; at != PT_NONE; at = view->next_sibling[at]) {
            struct pt_buffer name = {0};
            if (many)
                pt_buffer_format(&name, "%s, ", pt_string(writer->profile, view->nodes.items[process].text));
            pt_buffer_text(&name, pt_string(writer->profile, view->nodes.items[at].text));
            fputs(first ? "\n{\"type\":\"sampled\",\"name\":" : ",\n{\"type\":\"sampled\",\"name\":", writer->out);
            pt_json_text(writer->out, name.data);
            fprintf(writer->out, ",\"unit\":\"%s\",\n", writer->options->samples ? "none" : "nanoseconds");
            put_samples(writer, at);
            putc('}', writer->out);
            first = false;
            pt_buffer_free(&name);
        }
    }
    fputs("],\n", writer->out);
}

void pt_export_speedscope(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    const struct pt_view_options view_options = {
        .lines = options->lines, .threads = true, .processes = true, .only_process = PT_NONE, .only_thread = PT_NONE};
    struct pt_view *view = pt_view_new(profile, &view_options);
    struct writer writer = {.profile = profile, .view = view, .options = options, .out = out};
    writer.number_of_text = pt_alloc(profile->strings.count, sizeof *writer.number_of_text);
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n", out);
    put_frames(&writer);
    put_profiles(&writer);
    fputs("\"name\":", out);
    pt_json_text(out, pt_string(profile, profile->processes.items[0].command_line));
    struct pt_buffer line = {0};
    pt_summary_append_accounting(profile, &line);
    fprintf(out, ",\"activeProfileIndex\":0,\"exporter\":\"pyprof@" PYPROF_VERSION "\",\"accounting\":\"%s\"}\n",
            line.data);
    pt_buffer_free(&line);
    free(writer.number_of_text);
    free(writer.stack);
    pt_view_free(view);
}
