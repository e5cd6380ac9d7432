/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of the parts that the rows of a table have: functions, lines. */
#ifndef PT_REPORT_ROW_PARTS_H
#define PT_REPORT_ROW_PARTS_H

#include "../model/model.h"

struct pt_row_part {
    uint32_t row, part; /* row: a string */
    uint64_t ns;
};

/* Starts as {0}; pt_row_parts_free ends it. */
struct pt_row_parts {
    PT_TABLE_OF(struct pt_row_part) items;
};

void pt_row_parts_add(struct pt_row_parts *parts, uint32_t row, uint32_t part, uint64_t ns);
/* Gives the parts of each row to that in its place; rows: by row. */
void pt_row_parts_join(struct pt_row_parts *parts, const uint32_t *rows);
/* Returns, by row, the part that has most; ns 0: it has none. rows: how many strings there are. The caller frees. */
struct pt_row_part *pt_row_parts_most(const struct pt_row_parts *parts, uint32_t rows);
void pt_row_parts_free(struct pt_row_parts *parts);

#endif
