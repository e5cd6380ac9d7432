/* SPDX-License-Identifier: Apache-2.0 */
/* Sums CPU time up by source line, and by the expressions of a line. */
#ifndef PT_VIEW_LINE_SUMS_H
#define PT_VIEW_LINE_SUMS_H

#include "../model/model.h"

/* CPU time of a line: of Python by itself with the native code that it calls (package.h), unless that has a line of its
 * own in these files, of native code by itself; and with all that it calls; recursion counts once. */
struct pt_line {
    uint64_t self_ns, self_count, total_ns, total_count;
    uint32_t last; /* node that was last counted in total */
};

struct pt_file_lines {
    uint32_t path;         /* string: of Python functions, or the source of native code */
    struct pt_line *lines; /* by number */
    uint32_t count, capacity;
    uint64_t self_ns;
};

/* CPU time of a function or a frame, in the same way. */
struct pt_line_sum {
    uint64_t self_ns, total_ns;
    uint32_t last;
};

struct pt_line_sums {
    struct pt_file_lines *items;
    uint32_t count, capacity;
    uint32_t *of_string;                    /* file + 1 by path */
    struct pt_line_sum *functions, *frames; /* all of the profile's */
};

/* Starts without files, and then only functions and frames are summed up; pt_line_sums_free ends it. */
struct pt_line_sums pt_line_sums_new(const struct pt_profile *profile);
void pt_line_sums_add_file(struct pt_line_sums *sums, uint32_t path);
void pt_line_sums_count(struct pt_line_sums *sums, const struct pt_profile *profile);
void pt_line_sums_free(struct pt_line_sums *sums);

/* Returns whether the line, or another that is near it, used CPU time. */
#define PT_LINES_AROUND 4 /* the page has the same (flame/web/source.js) */
bool pt_line_is_near(const struct pt_file_lines *file, uint32_t number);

/* An expression of a line, or all of a line's time when it has no columns. */
struct pt_place {
    uint32_t line, end_line, column, end_column;
    uint64_t ns;
};

int pt_by_place(const void *a, const void *b);
int pt_by_place_time(const void *a, const void *b); /* most time first */

/* A line's text, or a part of it that begins after its indentation. */
struct pt_shown_line {
    const char *text;
    size_t indentation, length;
};

/* Appends carets below the place's part of the line. Returns false if they would say nothing: without columns, beyond
 * what is shown, or below all of it. A place that goes on in other lines is marked up to the end of its first. */
bool pt_place_carets(struct pt_buffer *out, const struct pt_shown_line *shown, const struct pt_place *place);

/* Expressions that took almost all of a line's time need no figure of their own. */
#define PT_ALL_OF_LINE 95.0
#define PT_HOT_PLACES  3

/* Copies the places of a line that took a tenth of its time or more, most time first; returns how many. */
uint32_t pt_hot_places(const struct pt_place *places, uint32_t count, uint32_t line, uint64_t line_ns,
                       struct pt_place hot[PT_HOT_PLACES]);

#endif
