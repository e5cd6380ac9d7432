/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `perf script` prints, for the many tools that read it. Each sample is a record of its own, so that those which
 * count records count samples; its period is its CPU time in nanoseconds. A log knows the interval (a second) in which
 * samples fell, not their places in it: they are spread evenly.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../model/time_bins.h"
#include "../view/summary.h"
#include "export.h"
#include "frames.h"

#define NS_PER_US     1000u
#define US_PER_SECOND 1000000u

struct writer {
    struct pt_profile *profile;
    const struct pt_export_options *options;
    FILE *out;
    uint64_t start_unix_ns, end_unix_ns;
    char **frames; /* by frame: its line; NULL: not yet made */
};

/* "  addr symbol (file)". Readers take the last parentheses for the module, and the text up to them for the name. */
static const char *frame_line(struct writer *writer, uint32_t number)
{
    if (writer->frames[number])
        return writer->frames[number];
    struct pt_frame_parts parts = pt_frame_parts_of(writer->profile, number, writer->options->lines);
    const struct pt_frame frame = writer->profile->frames.items[number];
    struct pt_buffer line = pt_formatted("\t%16" PRIx64 " ", parts.kind == PP_FRAME_NATIVE ? frame.address : 0);
    pt_append_plain(&line, pt_string(writer->profile, parts.name), "");
    if (frame.inlined_into) { /* as perf has it: this instead of a module */
        pt_buffer_text(&line, "\n");
        return writer->frames[number] = line.data;
    }
    pt_buffer_text(&line, " (");
    pt_append_plain(&line, parts.file ? pt_string(writer->profile, parts.file) : "pyprof", " ()");
    if (parts.line)
        pt_buffer_format(&line, ":%" PRIu32, parts.line);
    pt_buffer_text(&line, ")\n");
    return writer->frames[number] = line.data;
}

static void append_stack(struct writer *writer, struct pt_buffer *stack, uint32_t node)
{
    for (; node; node = writer->profile->nodes.items[node].parent)
        pt_buffer_text(stack, frame_line(writer, writer->profile->nodes.items[node].frame));
    pt_buffer_text(stack, "\n");
}

static uint64_t records_of(const struct pt_sample *sample)
{
    return sample->count ? sample->count : 1;
}

/* The first of the sample's records is number `place` of `places` in its interval and thread. */
static void put_sample(struct writer *writer, const struct pt_sample *sample, uint64_t place, uint64_t places,
                       struct pt_buffer *text)
{
    const struct pt_thread *thread = &writer->profile->threads.items[sample->thread];
    const struct pt_process *process = &writer->profile->processes.items[thread->process];
    const struct pt_interval *interval = &writer->profile->intervals.items[sample->interval];
    uint64_t records = records_of(sample), left = sample->cpu_ns, wall = pt_wall_of_run(interval, writer->end_unix_ns);
    uint64_t since =
        interval->start_unix_ns > writer->start_unix_ns ? interval->start_unix_ns - writer->start_unix_ns : 0;
    pt_buffer_clear(text);
    append_stack(writer, text, sample->node);
    PT_AUTO_BUFFER name = {0};
    pt_append_plain(
        &name, *pt_string(writer->profile, thread->name) ? pt_string(writer->profile, thread->name) : "python", "()");
    for (uint64_t i = 0; i < records; i++) {
        uint64_t period = left / (records - i), us = (since + wall / places * (place + i)) / NS_PER_US;
        left -= period;
        if (writer->options->samples)
            period = sample->count ? 1 : 0;
        if (!period)
            continue;
        fprintf(writer->out,
                "%s %5" PRIu64 "/%-5" PRIu64 " [000] %5" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " cpu-clock: \n%s",
                name.data, process->pid, thread->tid == UINT64_MAX ? 0 : thread->tid, us / US_PER_SECOND,
                us % US_PER_SECOND, period, text->data);
    }
}

void pt_export_perf_script(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    struct writer writer = {.profile = profile, .options = options, .out = out};
    PT_AUTO_BUFFER text = {0};
    uint32_t count;
    pt_summary_append_accounting(profile, &text);
    fprintf(out, "# accounting: %s\n#\n", text.data);
    pt_buffer_clear(&text);
    pt_profile_span(profile, &writer.start_unix_ns, &writer.end_unix_ns);
    writer.frames = pt_alloc(profile->frames.count, sizeof *writer.frames);
    PT_AUTO_FREE struct pt_sample *samples = pt_merged_samples(profile, &count);
    for (uint32_t i = 0, first; i < count;) {
        uint64_t places = 0, place = 0;
        for (first = i;
             i < count && samples[i].interval == samples[first].interval && samples[i].thread == samples[first].thread;
             i++)
            places += records_of(&samples[i]);
        for (uint32_t j = first; j < i; j++) {
            put_sample(&writer, &samples[j], place, places, &text);
            place += records_of(&samples[j]);
        }
    }
    for (uint32_t i = 0; i < profile->frames.count; i++)
        free(writer.frames[i]);
    free(writer.frames);
}
