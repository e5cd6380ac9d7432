/* From a code unit to its place in the source, by the three forms of table that CPython has had. Bytes are untrusted.
 */
#ifndef PP_FLUSH_LINE_TABLE_H
#define PP_FLUSH_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* The expression that an instruction belongs to. Lines count from 1. Columns are bytes of the line's UTF-8, from 1 on;
 * end_column is the first byte behind the expression, in end_line. 0: not known. Columns are known (3.11+) only as a
 * pair. */
struct pp_position {
    uint32_t line, end_line, column, end_column;
};

/* Of code unit `unit` (two bytes of bytecode each); all 0 when the table gives that unit no line or ends before it.
 * unit < 0 (not yet begun) is the first line. No columns: end_line is line, as co_positions() has it. */
struct pp_position pp_position_of(unsigned python_minor, const uint8_t *table, size_t size, uint32_t first_line,
                                  int32_t unit);

#endif
