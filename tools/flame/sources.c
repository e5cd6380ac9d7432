/* SPDX-License-Identifier: Apache-2.0 */
/* The source of the hottest Python functions, for the page: what `pyprof annotate` prints, with carets. */
#include "flame.h"

#include <stdio.h>
#include <stdlib.h>

#include "../base/json.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../load/source_text.h"
#include "../query/package.h"
#include "../view/line_sums.h"
#include "../view/summary.h"

#define HOT_FROM     0.1          /* per cent of the CPU time */
#define MAX_BYTES    (512u << 10) /* of source text, which takes a quarter of that in the page */
#define MAX_FILES    200
#define LONGEST_LINE 240 /* bytes; what is longer was not written by hand */

struct hot_function {
    uint32_t function, last_line;
    bool application;
    uint64_t ns; /* with all that it calls, if it is the application's: others are called by all */
};

/* A file that has hot functions. */
struct hot_file {
    struct pt_source source;
    const char **lines; /* by number: where they begin; one more is the end */
    uint32_t line_count;
    bool *taken; /* by number */
    struct {
        uint32_t *items; /* first and last lines of its functions */
        uint32_t count, capacity;
    } functions;
};

struct sources {
    const struct pt_profile *profile;
    struct pt_line_sums sums; /* its files are those of the functions */
    struct hot_function *functions;
    uint32_t count, left_out;
    uint64_t whole_ns;
    size_t bytes;
    struct hot_file *files; /* as in sums */
};

PT_DEFINE_ORDER(by_heat, struct hot_function,
                pt_compare(y->application, x->application) ?: pt_compare(y->ns, x->ns)
                    ?: pt_compare(x->function, y->function))

static void read_file(struct sources *sources, uint32_t number)
{
    struct hot_file *file = &sources->files[number];
    file->source = pt_source_of_file(sources->profile, sources->sums.items[number].path);
    const char *at = file->source.text, *end = at ? at + file->source.size : NULL;
    uint32_t room = 0;
    for (file->line_count = 1; at && at < end; file->line_count++) {
        file->lines = pt_grow(file->lines, &room, (uint64_t)file->line_count + 2, sizeof *file->lines);
        file->lines[file->line_count] = at;
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : end;
        file->lines[file->line_count + 1] = at;
    }
    file->taken = pt_alloc(file->line_count, sizeof *file->taken);
}

/* Finds the functions that are hot enough, and their files. */
static void find_functions(struct sources *sources)
{
    const struct pt_profile *profile = sources->profile;
    PT_AUTO(pt_line_sums_free) struct pt_line_sums totals = pt_line_sums_new(profile);
    struct hot_function *all = sources->functions = pt_alloc(profile->functions.count, sizeof *all);
    pt_line_sums_count(&totals, profile);
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        if (frame->kind != PP_FRAME_PYTHON || !totals.frames[i].total_ns)
            continue;
        struct hot_function *one = &all[frame->subject];
        uint32_t line = pt_frame_line(profile, frame);
        one->application = pt_is_application(profile, i);
        one->last_line = line > one->last_line ? line : one->last_line;
    }
    for (uint32_t i = 0; i < profile->functions.count; i++) {
        struct hot_function one = all[i];
        one.function = i;
        one.ns = one.application ? totals.functions[i].total_ns : totals.functions[i].self_ns;
        if (*pt_string(profile, profile->functions.items[i].file) != '<' &&
            pt_percent(one.ns, sources->whole_ns) >= HOT_FROM)
            all[sources->count++] = one;
    }
    qsort(all, sources->count, sizeof *all, by_heat);
    for (uint32_t i = 0; i < sources->count && sources->sums.count < MAX_FILES; i++)
        pt_line_sums_add_file(&sources->sums, profile->functions.items[all[i].function].file);
}

/* Reads the files, and counts their lines if there is one to show. */
static void read_files(struct sources *sources)
{
    bool any = false;
    sources->files = pt_alloc(sources->sums.count, sizeof *sources->files);
    for (uint32_t i = 0; i < sources->sums.count; i++) {
        read_file(sources, i);
        any |= sources->files[i].source.state == PT_SOURCE_READ;
    }
    if (any)
        pt_line_sums_count(&sources->sums, sources->profile);
}

/* Returns a line without its end, or as much of it as is shown. */
static struct pt_shown_line line_of(const struct hot_file *file, uint32_t number)
{
    struct pt_shown_line line = {.text = file->lines[number]};
    line.length = (size_t)(file->lines[number + 1] - line.text);
    while (line.length && strchr("\r\n", line.text[line.length - 1]))
        line.length--;
    if (line.length > LONGEST_LINE)
        for (line.length = LONGEST_LINE; line.length && ((unsigned char)line.text[line.length] & 0xc0) == 0x80;)
            line.length--;
    return line;
}

/* Takes a function's lines, as far as they are near to those that used CPU; not if there is no room for them. */
static void take_function(struct sources *sources, const struct hot_function *hot)
{
    const struct pt_function *function = &sources->profile->functions.items[hot->function];
    uint32_t number = sources->sums.of_string[function->file], first = function->first_line, last;
    struct hot_file *file = number ? &sources->files[number - 1] : NULL;
    size_t bytes = 0;
    if (!file) {
        sources->left_out++;
        return;
    }
    last = hot->last_line < file->line_count ? hot->last_line + PT_LINES_AROUND : 0;
    last = last < file->line_count ? last : file->line_count - 1;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = first ? first : 1; i <= last && sources->bytes + bytes <= MAX_BYTES; i++) {
            if (file->taken[i] || !(i == first || pt_line_is_near(&sources->sums.items[number - 1], i)))
                continue;
            file->taken[i] = pass;
            bytes += pass ? 0 : line_of(file, i).length + 1;
        }
    if (sources->bytes + bytes > MAX_BYTES) {
        sources->left_out++;
        return;
    }
    sources->bytes += bytes;
    if (file->source.state != PT_SOURCE_READ)
        return;
    *PT_APPEND(&file->functions) = first;
    *PT_APPEND(&file->functions) = hot->last_line;
}

/* Returns the places of a file that took time, in their order in the source. The caller frees. */
static struct pt_place *places_of(const struct sources *sources, uint32_t path, uint32_t *count)
{
    const struct pt_profile *profile = sources->profile;
    struct pt_place *places = pt_alloc(profile->frames.count, sizeof *places);
    *count = 0;
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        uint64_t ns = sources->sums.frames[i].total_ns;
        if (ns && frame->kind == PP_FRAME_PYTHON && profile->functions.items[frame->subject].file == path)
            places[(*count)++] =
                (struct pt_place){pt_frame_line(profile, frame), frame->end_line, frame->column, frame->end_column, ns};
    }
    qsort(places, *count, sizeof *places, pt_by_place);
    return places;
}

/* Puts [line, carets, time], and no time where the expression took all of the line's. */
static void put_carets(struct pt_json *json, const struct hot_file *file, const struct pt_file_lines *lines,
                       const struct pt_place *places, uint32_t count)
{
    for (uint32_t from = 0, to; from < count; from = to) {
        uint32_t line = places[from].line;
        struct pt_place hot[PT_HOT_PLACES];
        for (to = from; to < count && places[to].line == line; to++)
            ;
        if (!line || line >= file->line_count || line >= lines->count || !file->taken[line])
            continue;
        uint64_t line_ns = lines->lines[line].total_ns;
        uint32_t found = pt_hot_places(&places[from], to - from, line, line_ns, hot);
        struct pt_shown_line shown = line_of(file, line);
        for (uint32_t i = 0; i < found; i++) {
            PT_AUTO_BUFFER carets = {0};
            if (pt_place_carets(&carets, &shown, &hot[i])) {
                pt_json_begin(json, NULL, '[');
                pt_json_number(json, NULL, line);
                pt_json_text(json, NULL, carets.data);
                pt_json_number(json, NULL, pt_percent(hot[i].ns, line_ns) >= PT_ALL_OF_LINE ? 0 : hot[i].ns);
                pt_json_end(json, ']');
            }
        }
    }
}

static void put_file(struct pt_json *json, const struct sources *sources, uint32_t number)
{
    static const char *const states[] = {[PT_SOURCE_READ] = "read",
                                         [PT_SOURCE_MISSING] = "missing",
                                         [PT_SOURCE_NEWER] = "newer",
                                         [PT_SOURCE_OTHER] = "other"};
    const struct hot_file *file = &sources->files[number];
    const struct pt_file_lines *lines = &sources->sums.items[number];
    pt_json_begin(json, NULL, '{');
    pt_json_text(json, "path", pt_string(sources->profile, lines->path));
    pt_json_text(json, "state", states[file->source.state]);
    if (file->functions.count) {
        uint32_t count;
        PT_AUTO_FREE struct pt_place *places = places_of(sources, lines->path, &count);
        pt_json_begin(json, "functions", '[');
        for (uint32_t i = 0; i < file->functions.count; i++)
            pt_json_number(json, NULL, file->functions.items[i]);
        pt_json_end(json, ']');
        pt_json_begin(json, "lines", '[');
        /* Puts [number, self ns, total ns, text] for each line. */
        for (uint32_t i = 1; i < file->line_count; i++) {
            if (!file->taken[i])
                continue;
            struct pt_shown_line shown = line_of(file, i);
            PT_AUTO_BUFFER text = {0};
            pt_buffer_append(&text, shown.text, shown.length);
            pt_json_begin(json, NULL, '[');
            pt_json_number(json, NULL, i);
            pt_json_number(json, NULL, i < lines->count ? lines->lines[i].self_ns : 0);
            pt_json_number(json, NULL, i < lines->count ? lines->lines[i].total_ns : 0);
            pt_json_text(json, NULL, text.data ? text.data : "");
            pt_json_end(json, ']');
        }
        pt_json_end(json, ']');
        pt_json_begin(json, "carets", '[');
        put_carets(json, file, lines, places, count);
        pt_json_end(json, ']');
    }
    pt_json_end(json, '}');
}

char *pt_flame_sources(const struct pt_profile *profile)
{
    struct sources sources = {
        .profile = profile, .sums = pt_line_sums_new(profile), .whole_ns = pt_summary_program_ns(profile)};
    struct pt_buffer text = {0};
    find_functions(&sources);
    read_files(&sources);
    for (uint32_t i = 0; i < sources.count; i++)
        take_function(&sources, &sources.functions[i]);
    struct pt_json json = {.out = pt_buffer_stream(&text)};
    pt_json_begin(&json, NULL, '{');
    pt_json_number(&json, "whole_ns", sources.whole_ns);
    pt_json_number(&json, "left_out", sources.left_out);
    pt_json_begin(&json, "files", '[');
    for (uint32_t i = 0; i < sources.sums.count; i++)
        put_file(&json, &sources, i);
    pt_json_end(&json, ']');
    pt_json_end(&json, '}');
    fclose(json.out);
    for (uint32_t i = 0; i < sources.sums.count; i++) {
        pt_source_free(&sources.files[i].source);
        free(sources.files[i].lines);
        free(sources.files[i].taken);
        free(sources.files[i].functions.items);
    }
    pt_line_sums_free(&sources.sums);
    free(sources.files);
    free(sources.functions);
    return text.data;
}
