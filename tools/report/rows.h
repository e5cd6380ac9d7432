/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of `pyprof report` in which a row is a function, a line or a package. */
#ifndef PT_REPORT_ROWS_H
#define PT_REPORT_ROWS_H

#include "report.h"

#define PT_HIDDEN_BELOW 0.05 /* per cent: shown as 0.0 % otherwise */
#define PT_REST_WIDTH   17   /* columns of the sum of what is left out: seconds and share of self time */

struct pt_rows {
    const char *title;      /* the heading of the last column */
    struct pt_total *items; /* they are sorted when the table is printed */
    uint32_t count;
    uint64_t whole_ns;     /* what percentages are of */
    struct pt_draws draws; /* the samples that they come from */
    bool by_total;         /* unless --sort says otherwise */
    double least;          /* per cent: rows below it are left out unless --top asks for many */
};

/* Returns rows without items, with what shares in the view are of: all, or a process or a thread only. */
struct pt_rows pt_rows_of_view(const struct pt_report *report, const struct pt_view *view, bool all);

/* Returns whether the rows are to be sorted by total. */
bool pt_rows_by_total(const struct pt_report *report, bool by_default);
void pt_rows_sort(struct pt_total *rows, uint32_t count, bool by_total);

/* Puts the CPU time of a row, and how sure its shares are. */
void pt_rows_put_times(struct pt_json *json, const struct pt_rows *rows, const struct pt_total *row);

/* Prints the heading, --top rows and what the others have in sum; nothing if there is no row. */
void pt_rows_print(const struct pt_report *report, const struct pt_rows *rows);

#endif
