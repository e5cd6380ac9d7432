/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../../preload/common/label_kinds.h"
#include "../query/group.h"
#include "../query/package.h"
#include "report.h"

#define REQUESTS_PART 10 /* of the CPU time: a program with less in requests is no service */

bool pt_has_endpoints(struct pt_profile *profile)
{
    if (!pt_has_group(profile, PP_KEY_ENDPOINT))
        return false;
    bool found = profile->requests.count;
    PT_AUTO(pt_group_free) struct pt_group group = pt_group_by(profile, PP_KEY_ENDPOINT);
    for (uint32_t i = 0; !found && i < profile->samples.count; i++) {
        uint32_t value = pt_group_value(&group, &profile->samples.items[i]);
        found = value && strcmp(pt_string(profile, value), PP_UNKNOWN_ROUTE) != 0;
    }
    return found;
}

uint64_t pt_unknown_route_ns(struct pt_profile *profile)
{
    uint64_t ns = 0;
    PT_AUTO(pt_group_free) struct pt_group group = pt_group_by(profile, PP_KEY_ENDPOINT);
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        uint32_t value = pt_group_value(&group, &profile->samples.items[i]);
        if (value && strcmp(pt_string(profile, value), PP_UNKNOWN_ROUTE) == 0)
            ns += profile->samples.items[i].cpu_ns;
    }
    return ns;
}

/* What is known of a stack. */
struct stack {
    uint32_t package; /* string: of the innermost installed package */
    uint32_t calls;   /* string: of that which calls the application's innermost functions */
    bool own;         /* the application's function is innermost */
    const char *wrapper;
};

/* Returns which interface to servers a package's function is about, by its name or its file's: "ASGIWrapper.__call__",
 * "cheroot/wsgi.py"; NULL: none. */
static const char *interface_of(const struct pt_profile *profile, const struct pt_function *function)
{
    const char *name = pt_string(profile, function->name), *file = pt_string(profile, function->short_file);
    return strcasestr(name, "asgi") || strcasestr(file, "asgi")   ? "asgi"
           : strcasestr(name, "wsgi") || strcasestr(file, "wsgi") ? "wsgi"
                                                                  : NULL;
}

/* Returns whether the profile may be a server's: most are not. */
static bool may_serve(struct pt_profile *profile)
{
    bool found = pt_has_group(profile, PP_KEY_ENDPOINT);
    for (uint32_t i = 0; !found && i < profile->functions.count; i++)
        found = interface_of(profile, &profile->functions.items[i]);
    return found;
}

static struct stack *stacks_of(struct pt_profile *profile)
{
    struct stack *stacks = pt_alloc(profile->nodes.count, sizeof *stacks);
    PT_AUTO_FREE uint32_t *packages = pt_alloc(profile->frames.count, sizeof *packages); /* by frame, + 1 */
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        const struct pt_frame *frame = &profile->frames.items[node->frame];
        struct stack *stack = &stacks[i];
        *stack = stacks[node->parent];
        if (frame->kind != PP_FRAME_PYTHON || !pt_has_package(profile, node->frame))
            continue;
        bool own = pt_is_application(profile, node->frame);
        if (own && !stack->own)
            stack->calls = stack->package;
        else if (!own)
            stack->package =
                (packages[node->frame] = packages[node->frame] ?: pt_package_of(profile, node->frame) + 1) - 1;
        if (!own && !stack->wrapper)
            stack->wrapper = interface_of(profile, &profile->functions.items[frame->subject]);
        stack->own = own;
    }
    return stacks;
}

struct pt_unread pt_unread_endpoints(struct pt_profile *profile)
{
    if (profile->selected || !may_serve(profile) || pt_has_endpoints(profile))
        return (struct pt_unread){0};
    PT_AUTO_FREE struct stack *stacks = stacks_of(profile);
    PT_AUTO_FREE uint64_t *ns = pt_alloc(profile->strings.count, sizeof *ns);
    PT_AUTO(pt_group_free) struct pt_group endpoints = pt_group_by(profile, PP_KEY_ENDPOINT);
    PT_AUTO(pt_group_free) struct pt_group tasks = pt_group_by(profile, PP_KEY_TASK);
    uint64_t requests_ns = 0, asgi_ns = 0;
    uint32_t most = 0;
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        const struct stack *stack = &stacks[sample->node];
        bool served = sample->node && pt_group_value(&endpoints, sample);
        if (!stack->calls || (!served && !stack->wrapper))
            continue;
        requests_ns += sample->cpu_ns;
        bool asgi = stack->wrapper ? *stack->wrapper == 'a' : pt_group_value(&tasks, sample) != 0;
        asgi_ns += asgi ? sample->cpu_ns : 0;
        ns[stack->calls] += sample->cpu_ns;
        most = ns[stack->calls] > ns[most] ? stack->calls : most;
    }
    if (!most || requests_ns < pt_profile_cpu_ns(profile) / REQUESTS_PART)
        return (struct pt_unread){0};
    return (struct pt_unread){pt_string(profile, most), 2 * asgi_ns >= requests_ns ? "asgi" : "wsgi"};
}
