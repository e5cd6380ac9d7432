/* SPDX-License-Identifier: Apache-2.0 */
#include "hot_function.h"

#include <stdlib.h>
#include <string.h>

#include "../../preload/common/label_kinds.h"
#include "../model/frame_text.h"
#include "../model/http_requests.h"
#include "../query/application.h"
#include "../query/middleware.h"
#include "../query/package.h"
#include "../query/self.h"
#include "report.h"

/* CPU time of a function or package, in samples of a value. */
struct part {
    uint32_t value, text;
    uint64_t ns;
};

enum outside { OUTSIDE_NONE, OUTSIDE_UNKNOWN_ROUTE, OUTSIDE_COUNT };

struct pt_hot_functions {
    const struct pt_profile *profile;
    uint32_t *texts;   /* by frame */
    uint32_t *package; /* by node: string that says the package that counts; 0: the application's function does */
    uint32_t *shown;   /* by node: what its samples count for, a string */
    PT_TABLE_OF(struct part) parts;
    /* What has no value because servers and event loops run it. */
    bool has_outside;
    uint32_t outside[OUTSIDE_COUNT];                  /* strings */
    uint64_t *outside_ns[OUTSIDE_COUNT], *samples_ns; /* by node; of all samples */
};
PT_DEFINE_ADD(static uint32_t add_part, struct pt_hot_functions, parts, struct part, item->value, item->text)

/* Returns, by node, text that says the package if the stack has no function of the application but middleware and an
 * installed package below that; 0 for others. The caller frees. */
static uint32_t *packages_below_middleware(struct pt_profile *profile)
{
    uint32_t *of_node = pt_alloc(profile->nodes.count, sizeof *of_node);
    if (!profile->middleware)
        return of_node;
    bool *past = pt_past_middleware(profile), *application = pt_applications(profile);
    uint32_t *of_frame = pt_alloc(profile->frames.count, sizeof *of_frame);
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        if (application[i] || !pt_has_package(profile, i))
            continue;
        struct pt_buffer text = {0};
        pt_buffer_format(&text, "in %s", pt_string(profile, pt_package_of(profile, i)));
        of_frame[i] = pt_intern_text(profile, text.data);
        pt_buffer_free(&text);
    }
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        if (!past[i] && !application[node->frame])
            of_node[i] = of_frame[node->frame] ?: of_node[node->parent];
    }
    free(of_frame);
    free(application);
    free(past);
    return of_node;
}

/* Fills in, by node, what its samples count for: the innermost function of the application, or the package; without
 * both, or where the values are packages themselves, the innermost function of Python. */
static void choose_shown(struct pt_hot_functions *hot, struct pt_profile *profile, bool by_package)
{
    uint32_t no_python = pt_intern_text(profile, PT_REPORT_NO_PYTHON);
    uint32_t *own = pt_application_frames(profile), *innermost = pt_self_frames(profile);
    hot->shown = pt_alloc(profile->nodes.count, sizeof *hot->shown);
    for (uint32_t i = 0; i < profile->nodes.count; i++) {
        uint32_t frame = own[i] == PT_NONE || hot->package[i] ? innermost[i] : own[i];
        hot->shown[i] = hot->package[i] && !by_package ? hot->package[i]
                        : frame == PT_NONE             ? no_python
                                                       : hot->texts[frame];
    }
    free(innermost);
    free(own);
}

struct pt_hot_functions *pt_hot_functions_new(struct pt_profile *profile, const char *by, bool lines)
{
    static const char *const with_outside[] = {PP_KEY_ENDPOINT, PP_KEY_TASK, PP_KEY_GREENLET};
    struct pt_hot_functions *hot = pt_alloc(1, sizeof *hot);
    *hot = (struct pt_hot_functions){.profile = profile, .texts = pt_frame_texts(profile, lines)};
    hot->package = packages_below_middleware(profile);
    choose_shown(hot, profile, strcmp(by, "package") == 0);
    for (size_t i = 0; i < sizeof with_outside / sizeof with_outside[0]; i++)
        hot->has_outside |= strcmp(by, with_outside[i]) == 0;
    if (!hot->has_outside)
        return hot;
    hot->outside[OUTSIDE_UNKNOWN_ROUTE] = pt_intern_text(profile, PP_UNKNOWN_ROUTE);
    for (int i = 0; i < OUTSIDE_COUNT; i++)
        hot->outside_ns[i] = pt_alloc(profile->nodes.count, sizeof *hot->outside_ns[i]);
    hot->samples_ns = pt_alloc(profile->nodes.count, sizeof *hot->samples_ns);
    return hot;
}

void pt_hot_functions_add(struct pt_hot_functions *hot, uint32_t value, const struct pt_sample *sample)
{
    uint32_t part = add_part(hot, &(struct part){.value = value, .text = hot->shown[sample->node]});
    hot->parts.items[part].ns += sample->cpu_ns;
    if (!hot->has_outside)
        return;
    hot->samples_ns[sample->node] += sample->cpu_ns;
    for (int i = 0; i < OUTSIDE_COUNT; i++)
        hot->outside_ns[i][sample->node] += hot->outside[i] == value ? sample->cpu_ns : 0;
}

void pt_hot_functions_join(struct pt_hot_functions *hot, const uint32_t *rows)
{
    struct pt_hot_functions joined = *hot;
    memset(&joined.parts, 0, sizeof joined.parts);
    for (uint32_t i = 0; i < hot->parts.count; i++) {
        const struct part *part = &hot->parts.items[i];
        uint32_t place = add_part(&joined, &(struct part){.value = rows[part->value], .text = part->text});
        joined.parts.items[place].ns += part->ns;
    }
    PT_FREE_TABLE(&hot->parts);
    *hot = joined;
}

/* Returns it for a value that is none: the application's innermost function would be what started the server. */
static struct pt_hot_function hot_outside(const struct pt_hot_functions *hot, const uint64_t *ns)
{
    uint64_t *others_ns = pt_alloc(hot->profile->nodes.count, sizeof *others_ns);
    for (uint32_t i = 0; i < hot->profile->nodes.count; i++)
        others_ns[i] = hot->samples_ns[i] - ns[i];
    struct pt_hot_function function = pt_hot_path_function(hot->profile, hot->texts, hot->package, ns, others_ns);
    free(others_ns);
    return function;
}

struct pt_hot_function *pt_hot_functions_by_value(const struct pt_hot_functions *hot)
{
    struct pt_hot_function *functions = pt_alloc(hot->profile->strings.count, sizeof *functions);
    for (uint32_t i = 0; i < hot->parts.count; i++) {
        const struct part *part = &hot->parts.items[i];
        struct pt_hot_function *of_value = &functions[part->value];
        if (!of_value->text || part->ns > of_value->ns)
            *of_value = (struct pt_hot_function){part->text, part->ns};
    }
    for (int i = 0; hot->has_outside && i < OUTSIDE_COUNT; i++) {
        struct pt_hot_function *of_value = &functions[hot->outside[i]];
        struct pt_hot_function outside = of_value->ns ? hot_outside(hot, hot->outside_ns[i]) : *of_value;
        *of_value = outside.text ? outside : *of_value;
    }
    return functions;
}

void pt_hot_functions_free(struct pt_hot_functions *hot)
{
    free(hot->texts);
    free(hot->package);
    free(hot->shown);
    PT_FREE_TABLE(&hot->parts);
    for (int i = 0; i < OUTSIDE_COUNT; i++)
        free(hot->outside_ns[i]);
    free(hot->samples_ns);
    free(hot);
}
