/* SPDX-License-Identifier: Apache-2.0 */
#include "hot_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../model/frame_text.h"
#include "../query/package.h"
#include "../view/summary.h"

#define LONGEST_LINE 120 /* columns with source text where there is no terminal */
#define INDENTATION  12
#define MOST_CARETS  0.75 /* of the text above them: more say nothing */

/* A line of a row, while its places are added up. */
struct row_line {
    uint32_t row;
    struct pt_hot_line line;
};

PT_DEFINE_ORDER(by_line, struct row_line,
                pt_compare(x->row, y->row) ?: pt_compare(x->line.file, y->line.file)
                    ?: pt_compare(x->line.function, y->line.function) ?: pt_by_place(&x->line.place, &y->line.place))

PT_DEFINE_ORDER(by_time, struct row_line,
                pt_compare(x->row, y->row) ?: pt_compare(y->line.ns, x->line.ns) ?: by_line(a, b))

static bool is_same_line(const struct row_line *a, const struct row_line *b)
{
    return a->row == b->row && a->line.function == b->line.function && a->line.file == b->line.file &&
           a->line.place.line == b->line.place.line;
}

/* Joins the places of each line; it keeps the piece that has most. Returns how many lines there are. */
static uint32_t join(struct row_line *items, uint32_t count)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct pt_hot_line *more = &items[i].line;
        struct pt_hot_line *last = lines && is_same_line(&items[lines - 1], &items[i]) ? &items[lines - 1].line : NULL;
        if (!last) {
            items[lines++] = items[i];
            continue;
        }
        last->ns += more->ns;
        if (more->place.ns > last->place.ns)
            last->place = more->place;
    }
    return lines;
}

struct pt_hot_line *pt_hot_lines_sorted(const struct pt_profile *profile, const struct pt_row_parts *frames,
                                        uint32_t **rows, uint32_t *count)
{
    PT_AUTO_FREE struct row_line *items = pt_alloc(frames->items.count, sizeof *items);
    uint32_t known = 0;
    for (PT_EACH(const struct pt_row_part, time, &frames->items)) {
        const struct pt_frame *frame = &profile->frames.items[time->part];
        bool python = frame->kind == PP_FRAME_PYTHON;
        struct pt_place place = {python ? pt_frame_line(profile, frame) : frame->line, frame->end_line, frame->column,
                                 frame->end_column, time->ns};
        uint32_t file = python ? profile->functions.items[frame->subject].file : frame->source;
        if (python || place.line) /* else the library has no debug information */
            items[known++] = (struct row_line){time->row, {python ? frame->subject : PT_NONE, file, time->ns, place}};
    }
    qsort(items, known, sizeof *items, by_line);
    *count = join(items, known);
    qsort(items, *count, sizeof *items, by_time);
    struct pt_hot_line *sorted = pt_alloc(*count, sizeof *sorted);
    *rows = pt_alloc(*count, sizeof **rows);
    for (uint32_t i = 0; i < *count; i++) {
        sorted[i] = items[i].line;
        (*rows)[i] = items[i].row;
    }
    return sorted;
}

/* Returns the text of a line without its indentation, as much of it as fits after `used` columns. */
static struct pt_shown_line shown_line(const struct pt_source *source, uint32_t line, uint32_t used)
{
    struct pt_shown_line shown = {0};
    size_t size, columns = pt_print_columns(stdout) ?: LONGEST_LINE, most = columns > used ? columns - used : 0;
    shown.text = pt_source_line(source, line, &size);
    if (!shown.text)
        return shown;
    while (size && (*shown.text == ' ' || *shown.text == '\t')) {
        shown.text++;
        shown.indentation++;
        size--;
    }
    while (shown.length < size && shown.length < most && (unsigned char)shown.text[shown.length] >= ' ')
        shown.length++;
    while (shown.length < size && shown.length && ((unsigned char)shown.text[shown.length] & 0xc0) == 0x80)
        shown.length--; /* not in the middle of a character */
    return shown;
}

/* Leaves out so much of the beginning that the piece is shown, if only its end is not. Returns the columns of the mark
 * that says so. */
static uint32_t shift(struct pt_shown_line *shown, const struct pt_source *source, const struct pt_place *place)
{
    size_t size, end = place->end_column - 1, from = place->column - 1, beyond = shown->indentation + shown->length;
    const char *text = pt_source_line(source, place->line, &size);
    if (!shown->text || !place->column || place->end_line != place->line || end <= beyond || end > size ||
        (double)(end - from) > MOST_CARETS * (double)shown->length)
        return 0;
    size_t first = end - shown->length + 1;
    while (first < from && ((unsigned char)text[first] & 0xc0) == 0x80)
        first++;
    shown->length = end - first;
    shown->text = text + first;
    shown->indentation = first;
    return 1;
}

struct pt_source pt_hot_line_source(const struct pt_profile *profile, const struct pt_hot_line *line)
{
    return line->function == PT_NONE ? pt_source_of_file(profile, line->file)
                                     : pt_source_read(profile, &profile->functions.items[line->function]);
}

void pt_print_source_line(const struct pt_profile *profile, const struct pt_hot_line *line, uint32_t used,
                          const char *before, bool carets)
{
    PT_AUTO(pt_source_free) struct pt_source source = pt_hot_line_source(profile, line);
    used += pt_shown_width(before);
    struct pt_shown_line shown = shown_line(&source, line->place.line, used);
    uint32_t mark = carets ? shift(&shown, &source, &line->place) : 0;
    PT_AUTO_BUFFER text = {0}, harmless = {0}, marks = {0};
    pt_buffer_append(&text, shown.text, shown.length);
    pt_shown_text(&harmless, text.length ? text.data : "", 0);
    printf("%s%s%s\n", harmless.length ? before : "", mark ? "…" : "", harmless.length ? harmless.data : "");
    bool told = carets && shown.text && pt_place_carets(&marks, &shown, &line->place);
    const char *first = told ? strchr(marks.data, '^') : NULL;
    if (first && (double)strlen(first) <= MOST_CARETS * (double)pt_shown_width(harmless.data))
        printf("%*s%s\n", (int)(used + mark), "", marks.data);
}

void pt_print_hot_line(const struct pt_profile *profile, const struct pt_hot_line *line, uint64_t whole_ns, bool carets)
{
    const char *file = pt_base_name(pt_string(profile, line->file));
    PT_AUTO_BUFFER text = pt_formatted("%*s%.0f %% of it at %s:%" PRIu32, INDENTATION, "",
                                       pt_percent(line->ns, whole_ns), file, line->place.line);
    PT_AUTO_BUFFER shown = {0};
    pt_shown_text(&shown, text.data, 0);
    fputs(shown.data, stdout);
    pt_print_source_line(profile, line, pt_shown_width(shown.data), ": ", carets);
}
