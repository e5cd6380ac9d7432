/* Line tables come from a running process: any bytes, any unit. */
#include "preload/python/line_table.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int32_t unit;
    uint32_t first_line;
    if (size < 9)
        return 0;
    memcpy(&unit, data, 4);
    memcpy(&first_line, data + 4, 4);
    /* a copy of its own size: a byte read after the table is seen */
    uint8_t *table = malloc(size - 9 ? size - 9 : 1);
    memcpy(table, data + 9, size - 9);
    enum pp_line_table format = data[8] % (PP_LINES_LOCATIONS + 1);
    struct pp_position position = pp_position_of(format, table, size - 9, first_line, unit);
    free(table);
    /* columns come in pairs, and with tables that have them only */
    if (!position.column != !position.end_column || (format != PP_LINES_LOCATIONS && position.column))
        abort();
    if (unit < 0 && (position.line != first_line || position.column))
        abort();
    return 0;
}
