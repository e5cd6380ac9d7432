/* SPDX-License-Identifier: Apache-2.0 */
#include "hot_lines.h"

#include <stdlib.h>

#include "../base/numbers.h"
#include "../query/application.h"
#include "../query/self.h"
#include "report.h"
#include "source_files.h"

/* CPU time of a line of a function. */
struct line {
    uint32_t function, number;
    uint64_t ns;
};

static int by_line(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return pt_compare(x->function, y->function) ?: pt_compare(x->number, y->number);
}

/* Returns the function of the line with most CPU time; PT_NONE without lines. */
static uint32_t hottest_line(struct line *lines, uint32_t count)
{
    uint32_t hot = PT_NONE;
    uint64_t most_ns = 0;
    qsort(lines, count, sizeof *lines, by_line);
    for (uint32_t i = 0, end; i < count; i = end) {
        uint64_t ns = 0;
        for (end = i; end < count && by_line(&lines[i], &lines[end]) == 0; end++)
            ns += lines[end].ns;
        if (ns > most_ns) {
            hot = lines[i].function;
            most_ns = ns;
        }
    }
    return hot;
}

/* Sums CPU time up by the frames given for each node, and finds the function that has the hottest line. */
static void find_hot_lines(const struct pt_profile *profile, struct pt_hot_lines *hot, const uint32_t *frames)
{
    struct line *lines = pt_alloc(profile->frames.count, sizeof *lines);
    uint32_t count = 0;
    hot->ns_of_frame = pt_alloc(profile->frames.count, sizeof *hot->ns_of_frame);
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        if (frames[sample->node] != PT_NONE)
            hot->ns_of_frame[frames[sample->node]] += sample->cpu_ns;
    }
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        if (frame->kind == PP_FRAME_PYTHON && hot->ns_of_frame[i])
            lines[count++] = (struct line){frame->subject, pt_frame_line(profile, frame), hot->ns_of_frame[i]};
    }
    hot->function = hottest_line(lines, count);
    free(lines);
}

struct pt_hot_lines pt_hot_lines_of(const struct pt_profile *profile)
{
    struct pt_hot_lines hot = {.application = true};
    uint32_t *frames = pt_application_frames(profile);
    find_hot_lines(profile, &hot, frames);
    free(frames);
    if (hot.function == PT_NONE) {
        free(hot.ns_of_frame);
        hot.application = false;
        frames = pt_self_frames(profile);
        find_hot_lines(profile, &hot, frames);
        free(frames);
    }
    return hot;
}

const char *pt_report_hot_file(const struct pt_report *report)
{
    struct pt_hot_lines hot = pt_hot_lines_of(report->profile);
    free(hot.ns_of_frame);
    if (hot.function == PT_NONE)
        return NULL;
    const char *file = pt_shortest_path(report->profile, report->profile->functions.items[hot.function].file);
    return *file && *file != '<' ? file : NULL;
}
