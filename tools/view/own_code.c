/* SPDX-License-Identifier: Apache-2.0 */
#include "own_code.h"

#include <stdlib.h>
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "../query/package.h"
#include "summary.h"

#define LEAST_PERCENT 1.0 /* of the CPU time: with less, the profile is not one of the application */

static const char locals[] = ".<locals>.";

static const char *file_of(const struct pt_profile *profile, uint32_t frame)
{
    return pt_string(profile, profile->functions.items[profile->frames.items[frame].subject].file);
}

static const char *name_of(const struct pt_profile *profile, uint32_t frame)
{
    return pt_string(profile, profile->functions.items[profile->frames.items[frame].subject].name);
}

/* Returns whether the frame's function is a part of the other's text: since 3.11 its name says of which function. */
static bool is_part_of(const struct pt_profile *profile, uint32_t frame, uint32_t other)
{
    static const char *const parts[] = {"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>", "<lambda>"};
    const char *name = name_of(profile, frame), *of = name_of(profile, other), *last = strrchr(name, '.');
    bool part = false;
    last = last ? last + 1 : name;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        part |= strcmp(last, parts[i]) == 0;
    if (!part || strcmp(file_of(profile, frame), file_of(profile, other)) != 0)
        return false;
    size_t length = strlen(of);
    return last == name || (strncmp(name, of, length) == 0 && strncmp(name + length, locals, sizeof locals - 1) == 0);
}

static bool is_python(const struct pt_profile *profile, uint32_t frame)
{
    return profile->frames.items[frame].kind == PP_FRAME_PYTHON;
}

/* Returns whether the frame says what a function of the application calls: a function, but none of the interpreter's,
 * code without a name, or garbage collection. */
static bool is_callee(const struct pt_profile *profile, uint32_t number)
{
    const struct pt_frame *frame = &profile->frames.items[number];
    if (frame->kind == PP_FRAME_PSEUDO)
        return strcmp(pt_string(profile, frame->subject), PP_PSEUDO_GC) == 0 || pt_is_nameless_code(profile, frame);
    return frame->kind == PP_FRAME_PYTHON || pt_kind_of(profile, frame) != PT_KIND_INTERPRETER;
}

/* Returns whether the frame is native code of the library that the application's native function is in: a part of it.
 */
static bool is_in_library(const struct pt_profile *profile, uint32_t frame, uint32_t outer)
{
    return outer != PT_NONE && !is_python(profile, outer) && profile->frames.items[frame].kind == PP_FRAME_NATIVE &&
           profile->frames.items[frame].subject == profile->frames.items[outer].subject;
}

/* Fills in what is known of a node from its parent. */
static void fill_in(struct pt_own_code *own, const struct pt_profile *profile, const bool *is_own, uint32_t number)
{
    const struct pt_node *node = &profile->nodes.items[number];
    uint32_t parent = node->parent, frame = node->frame, outer = own->frame[parent];
    bool import = is_python(profile, frame) && pt_is_importlib(profile, &profile->frames.items[frame]);
    if (!is_own[frame]) {
        own->frame[number] = outer;
        own->caller[number] = own->caller[parent];
        own->callee[number] = own->callee[parent];
        if (own->callee[parent] == PT_NONE && is_callee(profile, frame) && !is_in_library(profile, frame, outer))
            own->callee[number] = frame;
        own->importing[number] = own->importing[parent] || import;
        own->imported[number] = own->imported[parent];
        if (own->importing[parent] && own->imported[parent] == PT_NONE && !import && is_python(profile, frame))
            own->imported[number] = frame;
        return;
    }
    own->callee[number] = own->imported[number] = PT_NONE;
    bool both = outer != PT_NONE && is_python(profile, frame) && is_python(profile, outer);
    if (both && is_part_of(profile, frame, outer)) {
        own->frame[number] = outer;
        own->caller[number] = own->caller[parent];
        return;
    }
    bool again = both && profile->frames.items[outer].subject == profile->frames.items[frame].subject;
    own->frame[number] = frame;
    own->caller[number] = again ? own->caller[parent] : outer;
}

static bool has_application(const struct pt_profile *profile, const bool *is_own)
{
    PT_AUTO_FREE bool *inside = pt_alloc(profile->nodes.count, sizeof *inside);
    uint64_t own_ns = 0, all_ns = 0;
    for (uint32_t i = 1; i < profile->nodes.count; i++)
        inside[i] = inside[profile->nodes.items[i].parent] || is_own[profile->nodes.items[i].frame];
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        own_ns += inside[profile->samples.items[i].node] ? profile->samples.items[i].cpu_ns : 0;
        all_ns += profile->samples.items[i].cpu_ns;
    }
    return pt_percent(own_ns, all_ns) >= LEAST_PERCENT;
}

struct pt_own_code pt_own_code_of(struct pt_profile *profile, bool native)
{
    uint32_t count = profile->nodes.count;
    PT_AUTO_FREE bool *is_own = pt_applications(profile), *natives = pt_native_applications(profile);
    for (uint32_t i = 0; native && i < profile->frames.count; i++)
        is_own[i] |= natives[i];
    struct pt_own_code own = {.application = has_application(profile, is_own),
                              .frame = pt_alloc(count, sizeof *own.frame),
                              .caller = pt_alloc(count, sizeof *own.caller),
                              .callee = pt_alloc(count, sizeof *own.callee),
                              .imported = pt_alloc(count, sizeof *own.imported),
                              .importing = pt_alloc(count, sizeof *own.importing)};
    for (uint32_t i = 0; !own.application && i < profile->frames.count; i++)
        is_own[i] = is_python(profile, i);
    own.frame[0] = own.caller[0] = own.callee[0] = own.imported[0] = PT_NONE;
    for (uint32_t i = 1; i < count; i++)
        fill_in(&own, profile, is_own, i);
    return own;
}

void pt_own_code_free(struct pt_own_code *own)
{
    free(own->frame);
    free(own->caller);
    free(own->callee);
    free(own->imported);
    free(own->importing);
}
