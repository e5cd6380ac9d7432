/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one tree of the stacks of several profiles. */
#include "flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../model/frame_text.h"
#include "../query/fold.h"
#include "../query/package.h"

/* Returns the page's number of a string. */
static uint32_t string(struct pt_flame *flame, const struct pt_profile *from, uint32_t number)
{
    return pt_intern_text(flame->merged, pt_string(from, number));
}

static void native_frame(struct pt_flame *flame, const struct pt_profile *from, const struct pt_frame *frame,
                         struct pt_flame_frame *to, bool lines)
{
    const char *path = frame->subject == PT_NONE ? "" : pt_string(from, from->modules.items[frame->subject].path);
    const char *base = pt_base_name(path);
    to->kind = pt_kind_of(from, frame);
    to->path = pt_intern_text(flame->merged, path);
    to->file = to->module = pt_intern_text(flame->merged, base);
    if (lines && frame->line) {
        const char *source = pt_string(from, frame->source);
        to->path = pt_intern_text(flame->merged, source);
        to->file = pt_intern_text(flame->merged, pt_base_name(source));
        to->line = frame->line;
    }
}

/* Returns the name: the part of the text before the place in parentheses. */
static uint32_t name_of(struct pt_flame *flame, const char *text, const struct pt_flame_frame *frame)
{
    size_t length = strlen(text), place = strlen(pt_string(flame->merged, frame->file)) + 3;
    if (frame->line)
        place += (size_t)snprintf(NULL, 0, ":%" PRIu32, frame->line);
    bool fits = frame->file && length > place && strncmp(text + length - place, " (", 2) == 0;
    return fits ? pt_intern(flame->merged, text, length - place) : pt_intern_text(flame->merged, text);
}

PT_DEFINE_ADD(static uint32_t add_frame, struct pt_flame, frames, struct pt_flame_frame, item->text, item->kind)

static uint32_t frame_number(struct pt_flame *flame, struct pt_profile *from, uint32_t number, bool lines)
{
    const struct pt_frame *frame = &from->frames.items[number];
    struct pt_flame_frame to = {.kind = PT_KIND_PSEUDO};
    struct pt_buffer text = {0};
    pt_frame_text(&text, from, number, lines);
    if (frame->kind == PP_FRAME_PYTHON) {
        const struct pt_function *function = &from->functions.items[frame->subject];
        to.kind = pt_kind_of(from, frame);
        to.path = string(flame, from, function->file);
        to.file = string(flame, from, function->short_file);
        to.line = lines && frame->line ? frame->line : function->first_line;
        to.module = string(flame, from, pt_package_of(from, number));
    } else if (frame->kind == PP_FRAME_NATIVE) {
        native_frame(flame, from, frame, &to, lines);
    }
    to.name = name_of(flame, text.data, &to);
    /* Between two profiles a function may have moved within its file. */
    const char *colon = flame->side_count > 1 && !lines && to.line ? strrchr(text.data, ':') : NULL;
    if (colon && to.name != pt_intern_text(flame->merged, text.data))
        text.length = (size_t)(colon - text.data);
    to.text = pt_intern(flame->merged, text.data, text.length);
    pt_buffer_free(&text);
    number = add_frame(flame, &to);
    flame->frames.items[number].line = to.line; /* where it is now */
    return number;
}

/* Returns the page's numbers of all frames. Without lines all frames of a Python function are one. */
static uint32_t *add_frames(struct pt_flame *flame, struct pt_profile *from)
{
    uint32_t *frames = pt_alloc(from->frames.count, sizeof *frames);
    PT_AUTO_FREE uint32_t *functions = pt_alloc(from->functions.count, sizeof *functions); /* + 1; 0: not known yet */
    for (uint32_t i = 0; i < from->frames.count; i++) {
        const struct pt_frame *frame = &from->frames.items[i];
        uint32_t *known = frame->kind == PP_FRAME_PYTHON && !flame->lines ? &functions[frame->subject] : NULL;
        frames[i] = known && *known ? *known - 1 : frame_number(flame, from, i, flame->lines);
        if (known)
            *known = frames[i] + 1;
    }
    return frames;
}

uint32_t *pt_flame_add_nodes(struct pt_flame *flame, struct pt_profile *from)
{
    struct pt_fold folds[PT_NATIVE_ALL] = {0};
    uint32_t whole = from->nodes.count;
    for (enum pt_native native = 0; native < PT_NATIVE_ALL; native++) {
        folds[native].native = native;
        pt_fold_add(&folds[native], from);
    }
    PT_AUTO_FREE uint32_t *frames = add_frames(flame, from);
    uint32_t *nodes = pt_alloc(from->nodes.count, sizeof *nodes);
    for (uint32_t i = 1; i < from->nodes.count; i++) {
        const struct pt_node *node = &from->nodes.items[i];
        nodes[i] = pt_add_node(flame->merged, nodes[node->parent], frames[node->frame]);
    }
    uint32_t *packages = pt_packages_by_node(from);
    while (flame->folded.count < flame->merged->nodes.count)
        PT_APPEND(&flame->folded);
    for (uint32_t i = 1; i < from->nodes.count; i++)
        flame->folded.items[nodes[i]].package = string(flame, from, packages[i]);
    free(packages);
    for (enum pt_native native = 0; native < PT_NATIVE_ALL; native++) {
        for (uint32_t i = 1; i < whole; i++)
            flame->folded.items[nodes[i]].at[native] = nodes[pt_fold_node(&folds[native], i)];
        pt_fold_free(&folds[native]);
    }
    return nodes;
}
