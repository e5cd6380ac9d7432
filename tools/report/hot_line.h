/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the line of the application that most of a row's CPU time is in, by the measure of own_code.h: of the innermost
 * function of the application, with all that it calls outside of it. */
#ifndef PT_REPORT_HOT_LINE_H
#define PT_REPORT_HOT_LINE_H

#include "../load/source_text.h"
#include "../view/line_sums.h"
#include "row_parts.h"

struct pt_hot_line {
    uint32_t function; /* of the profile; PT_NONE: native code */
    uint32_t file;     /* string, whole path */
    uint64_t ns;       /* 0: there is none */
    /* The line, and the piece of it that most of its time is in. place.ns: of that. */
    struct pt_place place;
};

/* Returns each line of each row, given the CPU time of its frames of the application: those of a row together, its
 * hottest first: *count of them, with the row of each in *rows. The caller frees both. */
struct pt_hot_line *pt_hot_lines_sorted(const struct pt_profile *profile, const struct pt_row_parts *frames,
                                        uint32_t **rows, uint32_t *count);

/* Reads the text of its file; the caller ends it with pt_source_free. */
struct pt_source pt_hot_line_source(const struct pt_profile *profile, const struct pt_hot_line *line);

/* Prints the line: "83 % of it at shop.py:14: return f(x)", and carets below the piece that most of it is in. whole_ns:
 * the row's CPU time. */
void pt_print_hot_line(const struct pt_profile *profile, const struct pt_hot_line *line, uint64_t whole_ns,
                       bool carets);
/* Prints the text of a line after `used` columns, as much of it as fits with what is `before` it, and its carets. */
void pt_print_source_line(const struct pt_profile *profile, const struct pt_hot_line *line, uint32_t used,
                          const char *before, bool carets);

#endif
