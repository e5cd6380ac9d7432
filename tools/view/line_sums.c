/* SPDX-License-Identifier: Apache-2.0 */
#include "line_sums.h"

#include <stdlib.h>

#include "../base/numbers.h"
#include "../load/source_text.h"
#include "../query/package.h"
#include "summary.h"

#define MAX_LINES       (2u << 20)
#define EXPRESSION_FROM 10.0 /* per cent of the line's time */

struct pt_line_sums pt_line_sums_new(const struct pt_profile *profile)
{
    return (struct pt_line_sums){.of_string = pt_alloc(profile->strings.count, sizeof(uint32_t)),
                                 .functions = pt_alloc(profile->functions.count, sizeof(struct pt_line_sum)),
                                 .frames = pt_alloc(profile->frames.count, sizeof(struct pt_line_sum))};
}

void pt_line_sums_add_file(struct pt_line_sums *sums, uint32_t path)
{
    if (sums->of_string[path])
        return;
    PT_APPEND(sums)->path = path;
    sums->of_string[path] = sums->count;
}

static struct pt_line *line_of(struct pt_file_lines *file, uint32_t number)
{
    file->lines = pt_grow(file->lines, &file->capacity, (uint64_t)number + 1, sizeof *file->lines);
    if (number >= file->count)
        file->count = number + 1;
    return &file->lines[number];
}

static void add_to_sum(struct pt_line_sum *sum, uint32_t node, uint64_t self_ns, uint64_t total_ns)
{
    sum->self_ns += self_ns;
    sum->total_ns += sum->last == node ? 0 : total_ns;
    sum->last = node;
}

/* Returns the line of a file to which the frame's CPU time counts, NULL if it is in none of them; *file is that file.
 */
static struct pt_line *line_of_frame(struct pt_line_sums *sums, const struct pt_profile *profile,
                                     const struct pt_frame *frame, struct pt_file_lines **file)
{
    bool python = frame->kind == PP_FRAME_PYTHON;
    uint32_t path = python ? profile->functions.items[frame->subject].file : frame->source;
    uint32_t number = python ? pt_frame_line(profile, frame) : frame->line;
    /* line numbers are not trusted: they must not claim memory */
    if (!sums->of_string[path] || (!python && !path) || number >= MAX_LINES)
        return NULL;
    *file = &sums->items[sums->of_string[path] - 1];
    return line_of(*file, number);
}

/* Counts a stack; `self` is the frame for which its CPU time counts as self time. */
static void add_stack(struct pt_line_sums *sums, const struct pt_profile *profile, uint32_t node, uint32_t self,
                      const struct pt_sample *stack)
{
    struct pt_file_lines *file;
    uint32_t leaf = profile->nodes.items[node].frame;
    if (profile->frames.items[leaf].kind == PP_FRAME_NATIVE &&
        line_of_frame(sums, profile, &profile->frames.items[leaf], &file))
        self = leaf; /* and not for the Python function that calls it */
    for (uint32_t at = node; at; at = profile->nodes.items[at].parent) {
        uint32_t number = profile->nodes.items[at].frame;
        const struct pt_frame *frame = &profile->frames.items[number];
        bool innermost = self == number;
        self = innermost ? PT_NONE : self; /* of a recursive function only the innermost frame */
        uint64_t self_ns = innermost ? stack->cpu_ns : 0;
        if (frame->kind == PP_FRAME_PYTHON) {
            add_to_sum(&sums->functions[frame->subject], node, self_ns, stack->cpu_ns);
            add_to_sum(&sums->frames[number], node, self_ns, stack->cpu_ns);
        }
        struct pt_line *line = line_of_frame(sums, profile, frame, &file);
        if (!line)
            continue;
        line->self_ns += self_ns;
        line->self_count += innermost ? stack->count : 0;
        line->total_ns += line->last == node ? 0 : stack->cpu_ns;
        line->total_count += line->last == node ? 0 : stack->count;
        line->last = node;
        file->self_ns += self_ns;
    }
}

void pt_line_sums_count(struct pt_line_sums *sums, const struct pt_profile *profile)
{
    PT_AUTO_FREE struct pt_sample *stacks = pt_alloc(profile->nodes.count, sizeof *stacks);
    PT_AUTO_FREE uint32_t *self_frames = pt_self_frames(profile);
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        struct pt_sample *stack = &stacks[profile->samples.items[i].node];
        stack->count += profile->samples.items[i].count;
        stack->cpu_ns += profile->samples.items[i].cpu_ns;
    }
    for (uint32_t i = 1; i < profile->nodes.count; i++)
        if (stacks[i].cpu_ns)
            add_stack(sums, profile, i, self_frames[i], &stacks[i]);
}

void pt_line_sums_free(struct pt_line_sums *sums)
{
    for (uint32_t i = 0; i < sums->count; i++)
        free(sums->items[i].lines);
    free(sums->items);
    free(sums->of_string);
    free(sums->functions);
    free(sums->frames);
}

bool pt_line_is_near(const struct pt_file_lines *file, uint32_t number)
{
    uint32_t from = number > PT_LINES_AROUND ? number - PT_LINES_AROUND : 1;
    for (uint32_t i = from; i <= number + PT_LINES_AROUND && i < file->count; i++)
        if (file->lines[i].total_ns)
            return true;
    return false;
}

int pt_by_place(const void *a, const void *b)
{
    const struct pt_place *x = a, *y = b;
    return pt_compare(x->line, y->line) ?: pt_compare(x->column, y->column) ?: pt_compare(x->end_line, y->end_line) ?: pt_compare(x->end_column, y->end_column);
}

int pt_by_place_time(const void *a, const void *b)
{
    const struct pt_place *x = a, *y = b;
    return pt_compare(y->ns, x->ns) ?: pt_by_place(a, b);
}

bool pt_place_carets(struct pt_buffer *out, const struct pt_shown_line *shown, const struct pt_place *place)
{
    size_t start = place->column - 1, end = place->end_column - 1, first = 0;
    if (!place->column || start < shown->indentation)
        return false;
    start -= shown->indentation;
    end -= end < shown->indentation ? end : shown->indentation;
    if (place->end_line != place->line || end > shown->length)
        for (end = shown->length; end && shown->text[end - 1] == ' ';)
            end--;
    while (first < shown->length && (shown->text[first] == ' ' || shown->text[first] == '\t'))
        first++;
    if (start == first && end >= shown->length)
        return false;
    return pt_source_carets(out, shown->text, shown->length, start, end);
}

uint32_t pt_hot_places(const struct pt_place *places, uint32_t count, uint32_t line, uint64_t line_ns,
                       struct pt_place hot[PT_HOT_PLACES])
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (places[i].line != line || pt_percent(places[i].ns, line_ns) < EXPRESSION_FROM)
            continue;
        uint32_t at = found < PT_HOT_PLACES ? found++ : PT_HOT_PLACES;
        for (; at && pt_by_place_time(&places[i], &hot[at - 1]) < 0; at--)
            if (at < PT_HOT_PLACES)
                hot[at] = hot[at - 1];
        if (at < PT_HOT_PLACES)
            hot[at] = places[i];
    }
    return found;
}
