/* A control file is whatever lies in the directory: it is read to its end, or refused and changes nothing. */
#include "preload/common/control.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pp_control_scope self = {1, 2};
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    struct pp_control_orders before = pp_control_default(true), orders = before;
    if (!pp_control_read(text, &self, true, &orders) && memcmp(&before, &orders, sizeof orders) != 0)
        abort();
    free(text);
    return 0;
}
