/* SPDX-License-Identifier: Apache-2.0 */
#include "hottest.h"

#include <stdlib.h>

#include "../base/numbers.h"
#include "../profile/self.h"
#include "report.h"
#include "source_files.h"

/* CPU time of stacks by the function whose lines are shown and the one that has it as self time. */
struct pair {
    uint32_t function, self;
    uint64_t ns;
};

static int by_pair(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return pt_compare(x->function, y->function) ?: pt_compare(x->self, y->self);
}

/* Returns the function of the pair with most CPU time; PT_NONE without pairs. */
static uint32_t hottest_pair(struct pair *pairs, uint32_t count)
{
    uint32_t hottest = PT_NONE;
    uint64_t most_ns = 0;
    qsort(pairs, count, sizeof *pairs, by_pair);
    for (uint32_t i = 0, end; i < count; i = end) {
        uint64_t ns = 0;
        for (end = i; end < count && by_pair(&pairs[i], &pairs[end]) == 0; end++)
            ns += pairs[end].ns;
        if (ns > most_ns) {
            hottest = pairs[i].function;
            most_ns = ns;
        }
    }
    return hottest;
}

/* Finds the hottest function, and sums CPU time up by the frames given for each node. */
static void find_hottest(const struct pt_profile *profile, struct pt_hottest *hottest, const uint32_t *frames,
                         const uint32_t *self_frames)
{
    struct pair *pairs = pt_alloc(profile->samples.count, sizeof *pairs);
    uint32_t count = 0;
    hottest->ns_of_frame = pt_alloc(profile->frames.count, sizeof *hottest->ns_of_frame);
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        uint32_t frame = frames[sample->node], self = self_frames[sample->node];
        if (frame == PT_NONE || profile->frames.items[frame].kind != PP_FRAME_PYTHON)
            continue;
        bool python = profile->frames.items[self].kind == PP_FRAME_PYTHON;
        hottest->ns_of_frame[frame] += sample->cpu_ns;
        pairs[count++] = (struct pair){profile->frames.items[frame].subject,
                                       python ? profile->frames.items[self].subject : PT_NONE, sample->cpu_ns};
    }
    hottest->function = hottest_pair(pairs, count);
    free(pairs);
}

struct pt_hottest pt_hottest_of(const struct pt_profile *profile)
{
    struct pt_hottest hottest = {.application = true};
    uint32_t *frames = pt_application_frames(profile), *self_frames = pt_self_frames(profile);
    find_hottest(profile, &hottest, frames, self_frames);
    if (hottest.function == PT_NONE) {
        free(hottest.ns_of_frame);
        hottest.application = false;
        find_hottest(profile, &hottest, self_frames, self_frames);
    }
    free(self_frames);
    free(frames);
    return hottest;
}

const char *pt_report_hottest_file(const struct pt_report *report)
{
    struct pt_hottest hottest = pt_hottest_of(report->profile);
    free(hottest.ns_of_frame);
    if (hottest.function == PT_NONE)
        return NULL;
    const char *file = pt_shortest_path(report->profile, report->profile->functions.items[hottest.function].file);
    return *file && *file != '<' ? file : NULL;
}
