/* Compares pp_line_of with what line_table.py prints (stdin). Prints the differences, and the sums. */
#include "preload/flush/line_table.h"
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

int main(void)
{
    static char line[2 * MAX_TABLE + 64], hex[2 * MAX_TABLE + 64];
    static uint8_t table[MAX_TABLE];
    unsigned minor, first_line;
    unsigned long codes = 0, units = 0, wrong = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%u %u %s", &minor, &first_line, hex) != 3) {
            fprintf(stderr, "cannot read: %.60s\n", line);
            return 2;
        }
        size_t size = from_hex(hex, table);
        codes++;
        int unit;
        unsigned expected;
        while (fgets(line, sizeof line, stdin) && sscanf(line, "%d %u", &unit, &expected) == 2) {
            unsigned got = pp_line_of(minor, table, size, first_line, unit);
            units++;
            if (got != expected && wrong++ < 10)
                printf("code at line %u, unit %d: %u, expected %u\n", first_line, unit, got, expected);
        }
    }
    printf("%lu code objects, %lu units, %lu wrong\n", codes, units, wrong);
    return wrong || !units;
}
