/* SPDX-License-Identifier: Apache-2.0 */
/* One profile per thread, chosen in speedscope by a menu: the format has no tree of processes. Samples are in the order
 * of time, a flush interval (a second) after the other: speedscope shows that first. */
#include <stdlib.h>

#include "../base/json.h"
#include "../model/frame_text.h"
#include "../view/call_tree.h"
#include "../view/summary.h"
#include "export.h"
#include "frames.h"

struct writer {
    struct pt_profile *profile;
    const struct pt_export_options *options;
    struct pt_json json;
    uint32_t *texts;          /* by frame */
    uint32_t *number_of_text; /* place among the frames + 1 */
    uint32_t *stack;
    uint32_t stack_capacity;
};

static void put_frames(struct writer *writer)
{
    struct pt_json *json = &writer->json;
    PT_AUTO_FREE bool *used = pt_nodes_used(writer->profile);
    uint32_t count = 0;
    pt_json_begin(json, "shared", '{');
    pt_json_begin(json, "frames", '[');
    for (uint32_t i = 1; i < writer->profile->nodes.count; i++) {
        uint32_t frame = writer->profile->nodes.items[i].frame;
        if (!used[i] || writer->number_of_text[writer->texts[frame]])
            continue;
        struct pt_frame_parts parts = pt_frame_parts_of(writer->profile, frame, writer->options->lines);
        pt_json_begin(json, NULL, '{');
        pt_json_text(json, "name", pt_string(writer->profile, parts.name));
        if (parts.file)
            pt_json_text(json, "file", pt_string(writer->profile, parts.file));
        if (parts.line)
            pt_json_number(json, "line", parts.line);
        pt_json_end(json, '}');
        writer->number_of_text[writer->texts[frame]] = ++count;
    }
    pt_json_end(json, ']');
    pt_json_end(json, '}');
}

static void put_stack(struct writer *writer, uint32_t at)
{
    uint32_t depth = 0;
    for (; at; at = writer->profile->nodes.items[at].parent) {
        writer->stack = pt_grow(writer->stack, &writer->stack_capacity, (uint64_t)depth + 1, sizeof *writer->stack);
        writer->stack[depth++] = writer->number_of_text[writer->texts[writer->profile->nodes.items[at].frame]] - 1;
    }
    pt_json_begin(&writer->json, NULL, '[');
    while (depth--)
        pt_json_number(&writer->json, NULL, writer->stack[depth]);
    pt_json_end(&writer->json, ']');
}

static uint64_t weight_of(const struct writer *writer, const struct pt_sample *sample)
{
    return writer->options->samples ? sample->count : sample->cpu_ns;
}

/* The samples are those of one thread. Returns the sum of their weights. */
static uint64_t put_samples(struct writer *writer, const struct pt_sample *samples, uint32_t count)
{
    struct pt_json *json = &writer->json;
    uint64_t sum = 0;
    pt_json_begin(json, "samples", '[');
    for (uint32_t i = 0; i < count; i++)
        if (weight_of(writer, &samples[i]))
            put_stack(writer, samples[i].node);
    pt_json_end(json, ']');
    pt_json_begin(json, "weights", '[');
    for (uint32_t i = 0; i < count; i++) {
        sum += weight_of(writer, &samples[i]);
        if (weight_of(writer, &samples[i]))
            pt_json_number(json, NULL, weight_of(writer, &samples[i]));
    }
    pt_json_end(json, ']');
    pt_json_number(json, "startValue", 0);
    pt_json_number(json, "endValue", sum);
    return sum;
}

/* Returns the number of the thread with most, which is shown first. */
static uint32_t put_profiles(struct writer *writer)
{
    struct pt_profile *profile = writer->profile;
    struct pt_json *json = &writer->json;
    PT_AUTO_BUFFER name = {0};
    uint32_t count, profiles = 0, most = 0;
    uint64_t most_weight = 0;
    PT_AUTO_FREE struct pt_sample *samples = pt_samples_in_time(profile, &count);
    pt_json_begin(json, "profiles", '[');
    for (uint32_t i = 0, first; i < count; profiles++) {
        uint32_t thread = samples[first = i].thread;
        while (i < count && samples[i].thread == thread)
            i++;
        pt_buffer_clear(&name);
        if (profile->processes.count > 1) {
            pt_buffer_text(&name, "process ");
            pt_process_text(&name, profile, profile->threads.items[thread].process);
            pt_buffer_text(&name, ", ");
        }
        pt_buffer_text(&name, "thread ");
        pt_thread_text(&name, profile, thread);
        pt_json_begin(json, NULL, '{');
        pt_json_text(json, "type", "sampled");
        pt_json_text(json, "name", name.data);
        pt_json_text(json, "unit", writer->options->samples ? "none" : "nanoseconds");
        uint64_t weight = put_samples(writer, samples + first, i - first);
        pt_json_end(json, '}');
        most = weight > most_weight ? profiles : most;
        most_weight = weight > most_weight ? weight : most_weight;
    }
    pt_json_end(json, ']');
    return most;
}

void pt_export_speedscope(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    struct writer writer = {.profile = profile, .options = options, .json = {.out = out}};
    PT_AUTO_BUFFER line = {0};
    writer.texts = pt_frame_texts(profile, options->lines);
    writer.number_of_text = pt_alloc(profile->strings.count, sizeof *writer.number_of_text);
    pt_summary_append_accounting(profile, &line);
    pt_json_begin(&writer.json, NULL, '{');
    pt_json_text(&writer.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    put_frames(&writer);
    uint32_t shown_first = put_profiles(&writer);
    pt_json_text(&writer.json, "name", pt_string(profile, profile->processes.items[0].command_line));
    pt_json_number(&writer.json, "activeProfileIndex", shown_first);
    pt_json_text(&writer.json, "exporter", "pyprof@" PYPROF_VERSION);
    pt_json_text(&writer.json, "accounting", line.data);
    pt_json_end(&writer.json, '}');
    pt_json_finish(&writer.json);
    free(writer.texts);
    free(writer.number_of_text);
    free(writer.stack);
}
