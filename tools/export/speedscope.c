/* One profile per thread, chosen in speedscope by a menu: the format has no tree of processes. */
#include <stdlib.h>

#include "../base/json.h"
#include "../view/call_tree.h"
#include "../view/summary.h"
#include "export.h"
#include "frames.h"

struct writer {
    struct pt_profile *profile;
    const struct pt_view *view;
    const struct pt_export_options *options;
    struct pt_json json;
    uint32_t *number_of_text; /* place among the frames + 1 */
    uint32_t *stack;
    uint32_t stack_capacity;
};

static void put_frames(struct writer *writer)
{
    struct pt_json *json = &writer->json;
    uint32_t count = 0;
    pt_json_begin(json, "shared", '{');
    pt_json_begin(json, "frames", '[');
    for (uint32_t i = 1; i < writer->view->nodes.count; i++) {
        const struct pt_view_node *node = &writer->view->nodes.items[i];
        if (node->frame == PT_NONE || writer->number_of_text[node->text])
            continue;
        struct pt_frame_parts parts = pt_frame_parts_of(writer->profile, node->frame, writer->options->lines);
        pt_json_begin(json, NULL, '{');
        pt_json_text(json, "name", pt_string(writer->profile, parts.name));
        if (parts.file)
            pt_json_text(json, "file", pt_string(writer->profile, parts.file));
        if (parts.line)
            pt_json_number(json, "line", parts.line);
        pt_json_end(json, '}');
        writer->number_of_text[node->text] = ++count;
    }
    pt_json_end(json, ']');
    pt_json_end(json, '}');
}

static void put_stack(struct writer *writer, uint32_t at)
{
    uint32_t depth = 0;
    for (; writer->view->nodes.items[at].frame != PT_NONE; at = writer->view->nodes.items[at].parent) {
        writer->stack = pt_grow(writer->stack, &writer->stack_capacity, (uint64_t)depth + 1, sizeof *writer->stack);
        writer->stack[depth++] = writer->number_of_text[writer->view->nodes.items[at].text] - 1;
    }
    pt_json_begin(&writer->json, NULL, '[');
    while (depth--)
        pt_json_number(&writer->json, NULL, writer->stack[depth]);
    pt_json_end(&writer->json, ']');
}

static uint64_t weight_of(const struct writer *writer, uint32_t node)
{
    const struct pt_view_node *of = &writer->view->nodes.items[node];
    return writer->options->samples ? of->count : of->ns;
}

/* The stacks below the node of a thread. */
static void put_samples(struct writer *writer, uint32_t top)
{
    const struct pt_view *view = writer->view;
    struct pt_json *json = &writer->json;
    uint64_t sum = 0;
    pt_json_begin(json, "samples", '[');
    for (uint32_t at = pt_view_next(view, top, top); at != PT_NONE; at = pt_view_next(view, at, top))
        if (weight_of(writer, at))
            put_stack(writer, at);
    pt_json_end(json, ']');
    pt_json_begin(json, "weights", '[');
    for (uint32_t at = pt_view_next(view, top, top); at != PT_NONE; at = pt_view_next(view, at, top)) {
        sum += weight_of(writer, at);
        if (weight_of(writer, at))
            pt_json_number(json, NULL, weight_of(writer, at));
    }
    pt_json_end(json, ']');
    pt_json_number(json, "startValue", 0);
    pt_json_number(json, "endValue", sum);
}

static void put_profiles(struct writer *writer)
{
    const struct pt_view *view = writer->view;
    struct pt_json *json = &writer->json;
    bool many = writer->profile->processes.count > 1;
    struct pt_buffer name = {0};
    pt_json_begin(json, "profiles", '[');
    for (uint32_t process = view->first_child[0]; process != PT_NONE; process = view->next_sibling[process]) {
        for (uint32_t at = view->first_child[process]; at != PT_NONE; at = view->next_sibling[at]) {
            pt_buffer_clear(&name);
            if (many)
                pt_buffer_format(&name, "%s, ", pt_string(writer->profile, view->nodes.items[process].text));
            pt_buffer_text(&name, pt_string(writer->profile, view->nodes.items[at].text));
            pt_json_begin(json, NULL, '{');
            pt_json_text(json, "type", "sampled");
            pt_json_text(json, "name", name.data);
            pt_json_text(json, "unit", writer->options->samples ? "none" : "nanoseconds");
            put_samples(writer, at);
            pt_json_end(json, '}');
        }
    }
    pt_json_end(json, ']');
    pt_buffer_free(&name);
}

void pt_export_speedscope(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    const struct pt_view_options view_options = {
        .lines = options->lines, .threads = true, .processes = true, .only_process = PT_NONE, .only_thread = PT_NONE};
    struct pt_view *view = pt_view_new(profile, &view_options);
    struct writer writer = {.profile = profile, .view = view, .options = options, .json = {.out = out}};
    struct pt_buffer line = {0};
    writer.number_of_text = pt_alloc(profile->strings.count, sizeof *writer.number_of_text);
    pt_summary_append_accounting(profile, &line);
    pt_json_begin(&writer.json, NULL, '{');
    pt_json_text(&writer.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    put_frames(&writer);
    put_profiles(&writer);
    pt_json_text(&writer.json, "name", pt_string(profile, profile->processes.items[0].command_line));
    pt_json_number(&writer.json, "activeProfileIndex", 0);
    pt_json_text(&writer.json, "exporter", "pyprof@" PYPROF_VERSION);
    pt_json_text(&writer.json, "accounting", line.data);
    pt_json_end(&writer.json, '}');
    pt_json_finish(&writer.json);
    pt_buffer_free(&line);
    free(writer.number_of_text);
    free(writer.stack);
    pt_view_free(view);
}
