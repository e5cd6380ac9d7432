/* A perf map is whatever somebody writes: any lines, in any order, over each other. */
#include "preload/modules/perf_map.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every range that the table holds is found, at both of its ends, under a name without control characters. */
static void look_up(const struct pp_code_ranges *ranges, uintptr_t address)
{
    const struct pp_code_range *range = pp_code_ranges_find(ranges, address);
    size_t length;
    if (!range)
        return;
    if (address < range->start || address - range->start >= range->size)
        abort();
    const char *name = pp_code_ranges_name(ranges, range, &length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            abort();
    if (pp_code_ranges_find(ranges, range->start) != range ||
        pp_code_ranges_find(ranges, range->start + range->size - 1) != range)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pp_code_ranges ranges = {0};
    for (size_t at = 0; at < size;) {
        const uint8_t *newline = memchr(data + at, '\n', size - at);
        size_t length = newline ? (size_t)(newline - data) - at : size - at;
        /* a copy of its own size: a byte read after the line is seen */
        char *line = malloc(length ? length : 1);
        memcpy(line, data + at, length);
        pp_perf_map_line(line, length, &ranges, 1, 1);
        look_up(&ranges, length);
        free(line);
        at += length + 1;
    }
    for (uintptr_t address = 0; address < 0x2000; address += 0x55)
        look_up(&ranges, address);
    pp_code_ranges_clear(&ranges);
    return 0;
}
