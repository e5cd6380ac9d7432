/* SPDX-License-Identifier: Apache-2.0 */
#include "middleware.h"

#include <stdlib.h>

#include "../model/http_requests.h"
#include "application.h"
#include "group.h"

#define COMMON 0.25 /* of the CPU time of several endpoints: a function that has as much is middleware */

struct part {
    uint32_t function, value;
    uint64_t ns;
};

struct parts {
    PT_TABLE_OF(struct part) items;
};
PT_DEFINE_ADD(static uint32_t add_part, struct parts, items, struct part, item->function, item->value)

/* Adds up the CPU time of each function in each endpoint, and of each endpoint. */
static void add_up(struct pt_profile *profile, struct parts *parts, uint64_t *ns)
{
    bool *application = pt_applications(profile);
    uint32_t *met = pt_alloc(profile->functions.count, sizeof *met);
    struct pt_group endpoints = pt_group_by(profile, PT_COUNTED_BY);
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        uint32_t value = pt_group_value(&endpoints, sample);
        ns[value] += sample->cpu_ns;
        for (uint32_t node = value ? sample->node : 0; node; node = profile->nodes.items[node].parent) {
            const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[node].frame];
            if (!application[profile->nodes.items[node].frame] || met[frame->subject] == i + 1)
                continue;
            met[frame->subject] = i + 1;
            uint32_t part = add_part(parts, &(struct part){.function = frame->subject, .value = value});
            parts->items.items[part].ns += sample->cpu_ns;
        }
    }
    pt_group_free(&endpoints);
    free(met);
    free(application);
}

bool *pt_find_middleware(struct pt_profile *profile)
{
    if (!pt_has_group(profile, PT_COUNTED_BY))
        return NULL;
    struct parts parts = {0};
    uint64_t *ns = pt_alloc(profile->strings.count, sizeof *ns);
    uint32_t *endpoints = pt_alloc(profile->functions.count, sizeof *endpoints);
    bool *middleware = pt_alloc(profile->functions.count, sizeof *middleware);
    add_up(profile, &parts, ns);
    for (uint32_t i = 0; i < parts.items.count; i++) {
        const struct part *part = &parts.items.items[i];
        if ((double)part->ns >= COMMON * (double)ns[part->value])
            middleware[part->function] = ++endpoints[part->function] > 1;
    }
    free(endpoints);
    free(ns);
    PT_FREE_TABLE(&parts.items);
    return middleware;
}

bool *pt_past_middleware(const struct pt_profile *profile)
{
    bool *past = pt_alloc(profile->nodes.count, sizeof *past), *application = pt_applications(profile);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        past[i] = past[node->parent];
        if (!past[i] && application[node->frame])
            past[i] = !profile->middleware || !profile->middleware[profile->frames.items[node->frame].subject];
    }
    free(application);
    return past;
}
