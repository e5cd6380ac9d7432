/* SPDX-License-Identifier: Apache-2.0 */
#include "application.h"

#include <stdlib.h>

#include "../model/kind.h"
#include "package.h"

bool pt_is_application(const struct pt_profile *profile, uint32_t frame)
{
    return frame != PT_NONE && pt_kind_of(profile, &profile->frames.items[frame]) == PT_KIND_APPLICATION &&
           pt_has_package(profile, frame);
}

bool *pt_applications(const struct pt_profile *profile)
{
    bool *own = pt_alloc(profile->frames.count, sizeof *own);
    for (uint32_t i = 0; i < profile->frames.count; i++)
        own[i] = pt_is_application(profile, i);
    return own;
}

uint32_t *pt_application_frames(const struct pt_profile *profile)
{
    uint32_t *frames = pt_alloc(profile->nodes.count, sizeof *frames);
    bool *own = pt_applications(profile);
    frames[0] = PT_NONE;
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        frames[i] = own[node->frame] ? node->frame : frames[node->parent];
    }
    free(own);
    return frames;
}
