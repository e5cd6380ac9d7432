/* Compares pp_position_of with what line_table.py prints (stdin). Prints the differences, and the sums. */
#include "preload/python/line_table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLE (1u << 20)

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *p = c ? strchr(digits, c) : NULL;
    return p ? (int)(p - digits) : -1;
}

static size_t from_hex(const char *text, uint8_t *bytes)
{
    size_t n = 0;
    for (; hex_digit(text[0]) >= 0 && hex_digit(text[1]) >= 0; text += 2)
        bytes[n++] = (uint8_t)(hex_digit(text[0]) << 4 | hex_digit(text[1]));
    return n;
}

/* As line_table.py prints it: columns from 0, -1 for none. */
struct row {
    int unit, column, end_column;
    unsigned line, end_line;
};

static int agrees(const struct pp_position *got, const struct row *row)
{
    return got->line == row->line && got->end_line == row->end_line && got->column == (unsigned)(row->column + 1) &&
           got->end_column == (unsigned)(row->end_column + 1);
}

int main(void)
{
    static char line[2 * MAX_TABLE + 64], hex[2 * MAX_TABLE + 64];
    static uint8_t table[MAX_TABLE];
    unsigned minor, first_line;
    unsigned long codes = 0, units = 0, with_columns = 0, wrong = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%u %u %s", &minor, &first_line, hex) != 3) {
            fprintf(stderr, "cannot read: %.60s\n", line);
            return 2;
        }
        const struct pp_python_layout *layout = pp_python_layout_of(minor, false);
        if (!layout) {
            fprintf(stderr, "3.%u is not known\n", minor);
            return 2;
        }
        enum pp_line_table format = layout->code.line_table_format;
        size_t size = from_hex(hex, table);
        codes++;
        struct row row;
        while (fgets(line, sizeof line, stdin) &&
               sscanf(line, "%d %u %u %d %d", &row.unit, &row.line, &row.end_line, &row.column, &row.end_column) == 5) {
            struct pp_position got = pp_position_of(format, table, size, first_line, row.unit);
            units++;
            with_columns += row.column >= 0;
            if (!agrees(&got, &row) && wrong++ < 10)
                printf("code at line %u, unit %d: %u-%u columns %u-%u, expected %u-%u columns %d-%d (+1)\n", first_line,
                       row.unit, got.line, got.end_line, got.column, got.end_column, row.line, row.end_line, row.column,
                       row.end_column);
        }
    }
    printf("%lu code objects, %lu units, %lu of them with columns, %lu wrong\n", codes, units, with_columns, wrong);
    return wrong || !units;
}
