/* One tree of one or two profiles: pp_flame_new. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/frame_text.h"
#include "cells.h"

static const char *after(const char *path, const char *mark)
{
    const char *found = strstr(path, mark);
    return found ? found + strlen(mark) : NULL;
}

/* The part of a path within a directory of packages, NULL when it is in none. */
static const char *in_package(const char *path)
{
    const char *package = after(path, "/site-packages/");
    return package ? package : after(path, "/dist-packages/");
}

static enum pp_flame_kind kind_of_source(const char *path)
{
    if (in_package(path))
        return PP_FLAME_PACKAGE;
    bool standard = after(path, "/lib/python") || strncmp(path, "<frozen ", 8) == 0;
    return standard ? PP_FLAME_STANDARD : PP_FLAME_APPLICATION;
}

static enum pp_flame_kind kind_of_module(const char *path)
{
    const char *base = pp_base_name(path);
    bool interpreter = strncmp(base, "libpython", 9) == 0 || strncmp(base, "python", 6) == 0;
    return interpreter ? PP_FLAME_INTERPRETER : PP_FLAME_NATIVE;
}

enum pp_flame_kind pp_flame_kind_of(const struct pp_profile *profile, const struct pp_frame *frame)
{
    if (frame->kind == PP_FRAME_PYTHON)
        return kind_of_source(pp_string(profile, profile->functions.items[frame->subject].file));
    if (frame->kind == PP_FRAME_NATIVE)
        return kind_of_module(
            frame->subject == PP_NONE ? "" : pp_string(profile, profile->modules.items[frame->subject].path));
    return PP_FLAME_PSEUDO;
}

/* Up to the first '/', or up to the extension of a file: the package or the module. */
static uint32_t first_part(struct pp_profile *strings, const char *path)
{
    size_t length = strcspn(path, "/");
    if (!path[length] && length > 3 && strcmp(path + length - 3, ".py") == 0)
        length -= 3;
    return pp_intern(strings, path, length);
}

static void python_frame(struct pp_flame *flame, const struct pp_profile *from, const struct pp_frame *frame,
                         struct pp_flame_frame *to)
{
    const struct pp_function *function = &from->functions.items[frame->subject];
    const char *path = pp_string(from, function->file), *file = pp_string(from, function->short_file);
    const char *package = in_package(path);
    to->kind = kind_of_source(path);
    to->path = pp_intern_text(flame->merged, path);
    to->file = pp_intern_text(flame->merged, file);
    if (package)
        to->module = first_part(flame->merged, package);
    else if (to->kind == PP_FLAME_STANDARD)
        to->module = pp_intern_text(flame->merged, "standard library");
    else
        to->module = first_part(flame->merged, *file == '/' ? pp_base_name(file) : file);
}

static void native_frame(struct pp_flame *flame, const struct pp_profile *from, const struct pp_frame *frame,
                         struct pp_flame_frame *to, bool lines)
{
    const char *path = frame->subject == PP_NONE ? "" : pp_string(from, from->modules.items[frame->subject].path);
    const char *base = pp_base_name(path);
    to->kind = kind_of_module(path);
    to->path = pp_intern_text(flame->merged, path);
    to->file = to->module = pp_intern_text(flame->merged, base);
    if (lines && frame->line) {
        const char *source = pp_string(from, frame->source);
        to->path = pp_intern_text(flame->merged, source);
        to->file = pp_intern_text(flame->merged, pp_base_name(source));
        to->line = frame->line;
    }
}

/* The text ends with the place in parentheses: what comes before it is the name. */
static uint32_t name_of(struct pp_flame *flame, const char *text, const struct pp_flame_frame *frame)
{
    size_t length = strlen(text), place = strlen(pp_string(flame->merged, frame->file)) + 3;
    if (frame->line)
        place += (size_t)snprintf(NULL, 0, ":%" PRIu32, frame->line);
    bool fits = frame->file && length > place && strncmp(text + length - place, " (", 2) == 0;
    return fits ? pp_intern(flame->merged, text, length - place) : pp_intern_text(flame->merged, text);
}

static bool same_frame(const void *table, uint32_t number, const void *key)
{
    const struct pp_flame_frame *frame = (const struct pp_flame_frame *)table + number, *wanted = key;
    return frame->text == wanted->text && frame->kind == wanted->kind;
}

static uint32_t add_frame(struct pp_flame *flame, const struct pp_flame_frame *frame)
{
    const uint64_t words[] = {frame->text, frame->kind};
    uint32_t hash = pp_hash_words(words, 2);
    uint32_t found = pp_index_find(&flame->frames.index, hash, same_frame, flame->frames.items, frame);
    if (found != PP_NONE)
        return found;
    flame->frames.items =
        pp_grow(flame->frames.items, &flame->frames.capacity, (uint64_t)flame->frames.count + 1, sizeof *frame);
    flame->frames.items[flame->frames.count] = *frame;
    pp_index_add(&flame->frames.index, hash, flame->frames.count);
    return flame->frames.count++;
}

static uint32_t frame_number(struct pp_flame *flame, const struct pp_profile *from, uint32_t number, bool lines)
{
    const struct pp_frame *frame = &from->frames.items[number];
    struct pp_flame_frame to = {.kind = PP_FLAME_PSEUDO};
    struct pp_buffer text = {0};
    pp_frame_text(&text, from, number, lines);
    to.text = pp_intern_text(flame->merged, text.data);
    if (frame->kind == PP_FRAME_PYTHON) {
        python_frame(flame, from, frame, &to);
        to.line = lines && frame->line ? frame->line : from->functions.items[frame->subject].first_line;
    } else if (frame->kind == PP_FRAME_NATIVE) {
        native_frame(flame, from, frame, &to, lines);
    }
    to.name = name_of(flame, text.data, &to);
    pp_buffer_free(&text);
    return add_frame(flame, &to);
}

uint32_t *pp_flame_add_nodes(struct pp_flame *flame, const struct pp_profile *from)
{
    uint32_t *frames = pp_alloc(from->frames.count, sizeof *frames);
    uint32_t *nodes = pp_alloc(from->nodes.count, sizeof *nodes);
    for (uint32_t i = 0; i < from->frames.count; i++)
        frames[i] = frame_number(flame, from, i, flame->lines);
    for (uint32_t i = 1; i < from->nodes.count; i++) {
        const struct pp_node *node = &from->nodes.items[i];
        nodes[i] = pp_add_node(flame->merged, nodes[node->parent], frames[node->frame]);
    }
    free(frames);
    return nodes;
}

struct pp_flame *pp_flame_new(struct pp_profile *const *sides, unsigned side_count, bool lines)
{
    struct pp_flame *flame = pp_alloc(1, sizeof *flame);
    flame->sides = sides;
    flame->side_count = side_count;
    flame->lines = lines;
    flame->merged = pp_profile_new();
    pp_flame_add_cells(flame);
    return flame;
}

uint32_t pp_flame_threads(const struct pp_flame *flame)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < flame->side_count; i++)
        count += flame->sides[i]->threads.count;
    return count;
}

void pp_flame_free(struct pp_flame *flame)
{
    if (!flame)
        return;
    pp_profile_free(flame->merged);
    free(flame->frames.items);
    pp_index_free(&flame->frames.index);
    free(flame);
}
