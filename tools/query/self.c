/* SPDX-License-Identifier: Apache-2.0 */
#include "self.h"

#include <string.h>

#include "../../preload/common/pseudo_frames.h"

/* Returns whether a pseudo-frame is CPU time of which no stack is known, and not a part of a stack. */
static bool stands_alone(const char *text)
{
    static const char *const parts[] = {PP_PSEUDO_PARTS};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strncmp(text, parts[i], strlen(parts[i])) == 0)
            return false;
    return true;
}

uint32_t pt_self_frame(const struct pt_profile *profile, uint32_t number, uint32_t without)
{
    if (number == PT_NONE)
        return PT_NONE;
    const struct pt_frame *frame = &profile->frames.items[number];
    const char *text = frame->kind == PP_FRAME_PSEUDO ? pt_string(profile, frame->subject) : "";
    if (frame->kind == PP_FRAME_PYTHON || strcmp(text, PP_PSEUDO_GC) == 0)
        return number;
    return without == PT_NONE && *text && stands_alone(text) ? number : without;
}

uint32_t *pt_self_frames(const struct pt_profile *profile)
{
    uint32_t *frames = pt_alloc(profile->nodes.count, sizeof *frames);
    frames[0] = PT_NONE;
    for (uint32_t i = 1; i < profile->nodes.count; i++)
        frames[i] = pt_self_frame(profile, profile->nodes.items[i].frame, frames[profile->nodes.items[i].parent]);
    return frames;
}

uint32_t pt_frame_line(const struct pt_profile *profile, const struct pt_frame *frame)
{
    return frame->line ? frame->line : profile->functions.items[frame->subject].first_line;
}
