/* One profile per thread, chosen in speedscope by a menu: the format has no tree of processes. */
#include <inttypes.h>
#include <stdlib.h>

#include "../cli.h"
#include "../profile/summary.h"
#include "../profile/view.h"
#include "export.h"
#include "frames.h"
#include "json.h"

struct writer {
    struct pp_profile *profile;
    const struct pp_view *view;
    const struct pp_export_options *options;
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
        const struct pp_view_node *node = &writer->view->nodes.items[i];
        if (node->frame == PP_NONE || writer->number_of_text[node->text])
            continue;
        struct pp_frame_parts parts = pp_frame_parts_of(writer->profile, node->frame, writer->options->lines);
        fputs(count ? ",\n{\"name\":" : "\n{\"name\":", writer->out);
        pp_json_text(writer->out, pp_string(writer->profile, parts.name));
        if (parts.file) {
            fputs(",\"file\":", writer->out);
            pp_json_text(writer->out, pp_string(writer->profile, parts.file));
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
    for (uint32_t i = at; writer->view->nodes.items[i].frame != PP_NONE; i = writer->view->nodes.items[i].parent)
        depth++;
    writer->stack = pp_grow(writer->stack, &writer->stack_capacity, (uint64_t)depth + 1, sizeof *writer->stack);
    for (; length < depth; length++, at = writer->view->nodes.items[at].parent)
        writer->stack[depth - 1 - length] = writer->number_of_text[writer->view->nodes.items[at].text] - 1;
    pp_json_numbers(writer->out, writer->stack, depth);
}

/* The stacks below the node of a thread. */
static void put_samples(struct writer *writer, uint32_t top)
{
    const struct pp_view *view = writer->view;
    struct pp_buffer weights = {0};
    uint64_t sum = 0;
    fputs("\"samples\":[", writer->out);
    for (uint32_t at = pp_view_next(view, top, top); at != PP_NONE; at = pp_view_next(view, at, top)) {
        const struct pp_view_node *node = &view->nodes.items[at];
        uint64_t weight = writer->options->samples ? node->count : node->ns;
        if (!weight)
            continue;
        if (sum)
            fputs(",\n", writer->out);
        put_stack(writer, at);
        pp_buffer_format(&weights, "%s%" PRIu64, sum ? "," : "", weight);
        sum += weight;
    }
    fprintf(writer->out, "],\n\"weights\":[%s],\"startValue\":0,\"endValue\":%" PRIu64,
            weights.data ? weights.data : "", sum);
    pp_buffer_free(&weights);
}

static void put_profiles(struct writer *writer)
{
    const struct pp_view *view = writer->view;
    bool many = writer->profile->processes.count > 1, first = true;
    fputs("\"profiles\":[", writer->out);
    for (uint32_t process = view->first_child[0]; process != PP_NONE; process = view->next_sibling[process]) {
        for (uint32_t at = view->first_child[process]; at != PP_NONE; at = view->next_sibling[at]) {
            struct pp_buffer name = {0};
            if (many)
                pp_buffer_format(&name, "%s, ", pp_string(writer->profile, view->nodes.items[process].text));
            pp_buffer_text(&name, pp_string(writer->profile, view->nodes.items[at].text));
            fputs(first ? "\n{\"type\":\"sampled\",\"name\":" : ",\n{\"type\":\"sampled\",\"name\":", writer->out);
            pp_json_text(writer->out, name.data);
            fprintf(writer->out, ",\"unit\":\"%s\",\n", writer->options->samples ? "none" : "nanoseconds");
            put_samples(writer, at);
            putc('}', writer->out);
            first = false;
            pp_buffer_free(&name);
        }
    }
    fputs("],\n", writer->out);
}

void pp_export_speedscope(struct pp_profile *profile, const struct pp_export_options *options, FILE *out)
{
    const struct pp_view_options view_options = {
        .lines = options->lines, .threads = true, .processes = true, .only_process = PP_NONE, .only_thread = PP_NONE};
    struct pp_view *view = pp_view_new(profile, &view_options);
    struct writer writer = {.profile = profile, .view = view, .options = options, .out = out};
    writer.number_of_text = pp_alloc(profile->strings.count, sizeof *writer.number_of_text);
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n", out);
    put_frames(&writer);
    put_profiles(&writer);
    fputs("\"name\":", out);
    pp_json_text(out, pp_string(profile, profile->processes.items[0].command_line));
    struct pp_buffer line = {0};
    pp_summary_append_accounting(profile, &line);
    fprintf(out, ",\"activeProfileIndex\":0,\"exporter\":\"pyprof@" PYPROF_VERSION "\",\"accounting\":\"%s\"}\n",
            line.data);
    pp_buffer_free(&line);
    free(writer.number_of_text);
    free(writer.stack);
    pp_view_free(view);
}
