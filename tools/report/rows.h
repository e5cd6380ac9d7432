/* Tables of `pyprof report` in which a row is a function, a line or a package. */
#ifndef PT_REPORT_ROWS_H
#define PT_REPORT_ROWS_H

#include "report.h"

struct pt_rows {
    const char *title;      /* the heading of the last column */
    struct pt_total *items; /* they are sorted when the table is printed */
    uint32_t count;
    uint64_t whole_ns; /* what percentages are of */
    bool by_total;     /* unless --sort says otherwise */
    double least;      /* per cent: rows below it are left out unless --top asks for many */
};

/* Returns whether the rows are to be sorted by total. */
bool pt_rows_by_total(const struct pt_report *report, bool by_default);
void pt_rows_sort(struct pt_total *rows, uint32_t count, bool by_total);

/* Prints the heading, --top rows and what the others have in sum; nothing if there is no row. */
void pt_rows_print(const struct pt_report *report, const struct pt_rows *rows);

#endif
