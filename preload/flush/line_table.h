/* From a code unit to its source line, by the three forms of table that CPython has had. Bytes are untrusted. */
#ifndef PP_FLUSH_LINE_TABLE_H
#define PP_FLUSH_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* The line of code unit `unit` (two bytes of bytecode each); 0 when the table gives that unit no line or ends before
 * it. unit < 0 (not yet begun) is the first line. */
uint32_t pp_line_of(unsigned python_minor, const uint8_t *table, size_t size, uint32_t first_line, int32_t unit);

#endif
