/* SPDX-License-Identifier: Apache-2.0 */
#include "dynamic_code.h"

#include <stdlib.h>
#include <string.h>

#include "../model/kind.h"
#include "../query/package.h"
#include "source_text.h"

/* A script of the application. */
struct script {
    uint32_t module; /* the function that its top level is */
    struct pt_source source;
};

struct scripts {
    struct script *items;
    uint32_t count, capacity;
};

static bool is_dynamic(const struct pt_profile *profile, uint32_t function)
{
    return strcmp(pt_string(profile, profile->functions.items[function].file), PT_DYNAMIC_CODE) == 0;
}

static bool has_dynamic(const struct pt_profile *profile)
{
    for (uint32_t i = 0; i < profile->functions.count; i++)
        if (is_dynamic(profile, i))
            return true;
    return false;
}

static void add_script(struct pt_profile *profile, struct scripts *scripts, uint32_t module)
{
    uint32_t path = profile->functions.items[module].file;
    for (uint32_t i = 0; i < scripts->count; i++)
        if (profile->functions.items[scripts->items[i].module].file == path)
            return;
    *PT_APPEND(scripts) = (struct script){.module = module, .source = pt_source_of_file(profile, path)};
}

/* Finds the files of the application of which the top level ran: the script is one of them. */
static struct scripts find_scripts(struct pt_profile *profile)
{
    struct scripts scripts = {0};
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        if (frame->kind == PP_FRAME_PYTHON && pt_is_application(profile, i) &&
            strcmp(pt_string(profile, profile->functions.items[frame->subject].name), "<module>") == 0)
            add_script(profile, &scripts, frame->subject);
    }
    return scripts;
}

/* Returns the number of the function with the file of the script that defines it; its own if none or several do. */
static uint32_t function_in(struct pt_profile *profile, const struct scripts *scripts, uint32_t number)
{
    struct pt_function function = profile->functions.items[number];
    const struct script *found = NULL;
    for (PT_EACH(const struct script, script, scripts)) {
        if (!pt_source_defines(&script->source, pt_string(profile, function.name), function.first_line))
            continue;
        if (found)
            return number;
        found = script;
    }
    if (!found)
        return number;
    function.file = profile->functions.items[found->module].file;
    function.short_file = profile->functions.items[found->module].short_file;
    return pt_add_function(profile, &function);
}

/* Returns the number of the frame with the script's function in its place; its own for other frames. */
static uint32_t frame_in(struct pt_profile *profile, const struct scripts *scripts, uint32_t number)
{
    struct pt_frame frame = profile->frames.items[number];
    if (frame.kind != PP_FRAME_PYTHON || !is_dynamic(profile, frame.subject))
        return number;
    uint32_t function = function_in(profile, scripts, frame.subject);
    if (function == frame.subject)
        return number;
    frame.subject = function;
    return pt_add_frame(profile, &frame);
}

static void replace_frames(struct pt_profile *profile, const uint32_t *frames)
{
    uint32_t count = profile->nodes.count, *moved = pt_alloc(count, sizeof *moved);
    for (uint32_t i = 1; i < count; i++) {
        const struct pt_node node = profile->nodes.items[i];
        bool same = moved[node.parent] == node.parent && frames[node.frame] == node.frame;
        moved[i] = same ? i : pt_add_node(profile, moved[node.parent], frames[node.frame]);
    }
    for (uint32_t i = 0; i < profile->samples.count; i++)
        profile->samples.items[i].node = moved[profile->samples.items[i].node];
    free(moved);
}

void pt_dynamic_code_resolve(struct pt_profile *profile)
{
    if (!has_dynamic(profile))
        return;
    struct scripts scripts = find_scripts(profile);
    uint32_t count = profile->frames.count, *frames = pt_alloc(count, sizeof *frames);
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        frames[i] = frame_in(profile, &scripts, i);
        found = found || frames[i] != i;
    }
    if (found)
        replace_frames(profile, frames);
    for (uint32_t i = 0; i < scripts.count; i++)
        pt_source_free(&scripts.items[i].source);
    free(scripts.items);
    free(frames);
}
