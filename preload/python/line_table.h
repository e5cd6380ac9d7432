/* SPDX-License-Identifier: Apache-2.0 */
/* Maps a code unit to its place in the source, by the three table formats that CPython has had. Bytes are untrusted. */
#ifndef PP_PYTHON_LINE_TABLE_H
#define PP_PYTHON_LINE_TABLE_H

#include "../cpython/layout.h"
#include <stddef.h>
#include <stdint.h>

/* The expression that an instruction belongs to. Lines and columns count from 1; columns are bytes of the line's UTF-8,
 * and end_column is the first byte after the expression, in end_line. 0: unknown. Columns (3.11+) are only known as a
 * pair. */
struct pp_position {
    uint32_t line, end_line, column, end_column;
};

/* Returns the position of code unit `unit` (two bytes of bytecode each), all 0 if the table has no line for it or ends
 * before it. unit < 0 (not started) is the first line. Without columns end_line is line, as in co_positions(). */
struct pp_position pp_position_of(enum pp_line_table format, const uint8_t *table, size_t size, uint32_t first_line,
                                  int32_t unit);

#endif
