/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest line of native code whose source is here: of the application's extension modules. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../model/kind.h"
#include "../view/summary.h"
#include "report.h"
#include "row_parts.h"

#define MUCH_FROM 10.0 /* per cent of the CPU time */

/* Returns whether the frame is native code of a module of the application's whose source is here. */
static bool is_own(const struct pt_profile *profile, const struct pt_frame *frame)
{
    return frame->kind == PP_FRAME_NATIVE && frame->line && frame->subject != PT_NONE &&
           pt_kind_of(profile, frame) == PT_KIND_NATIVE &&
           !strstr(pt_string(profile, profile->modules.items[frame->subject].path), "/lib-dynload/") &&
           access(pt_string(profile, frame->source), R_OK) == 0;
}

bool pt_report_native_line(const struct pt_report *report, struct pt_native_line *hottest)
{
    struct pt_profile *profile = report->profile;
    PT_AUTO_FREE bool *own = pt_alloc(profile->frames.count, sizeof *own);
    PT_AUTO_FREE uint32_t *innermost = pt_alloc(profile->nodes.count, sizeof *innermost);
    struct pt_row_parts lines = {0};
    for (uint32_t i = 0; i < profile->frames.count; i++)
        own[i] = is_own(profile, &profile->frames.items[i]);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        bool python = profile->frames.items[node->frame].kind == PP_FRAME_PYTHON;
        innermost[i] = own[node->frame] ? node->frame + 1 : python ? 0 : innermost[node->parent];
    }
    *hottest = (struct pt_native_line){0};
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        if (!innermost[sample->node])
            continue;
        const struct pt_frame *frame = &profile->frames.items[innermost[sample->node] - 1];
        pt_row_parts_add(&lines, frame->source, frame->line, sample->cpu_ns);
    }
    PT_AUTO_FREE struct pt_row_part *most = pt_row_parts_most(&lines, profile->strings.count);
    for (uint32_t i = 0; i < profile->strings.count; i++)
        if (most[i].ns > hottest->ns)
            *hottest = (struct pt_native_line){i, most[i].part, most[i].ns};
    pt_row_parts_free(&lines);
    return pt_percent(hottest->ns, report->whole_ns) >= MUCH_FROM;
}
