/* Line tables come from a running process: any bytes, any unit. */
#include "preload/flush/line_table.h"
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
    pp_line_of(8 + data[8] % 8, data + 9, size - 9, first_line, unit);
    return 0;
}
