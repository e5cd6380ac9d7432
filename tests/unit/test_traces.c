/* The traces that PYPROF_TRACES selects are those of TraceIdRatioBased: its bound is round(rate * 2**64) in Python. */
#include "preload/common/settings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

static void bounds_are_those_of_python(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bound;
    } known[] = {
        {"0.01", 0x28f5c28f5c28f60},
        {"0.1", 0x1999999999999a00},
        {"0.5", 0x8000000000000000},
        {"0.3", 0x4ccccccccccccc00},
        {"0.001", 0x4189374bc6a7f0},
        {"0.123456789012345", 0x1f9add3746f62e00},
        {"0.999999999999999", 0xffffffffffffb800},
        {"0.000000000000001", 0x480f},
        {"0.00005", 0x346dc5d638866},
        {".25", 0x4000000000000000},
        {"00.7", 0xb333333333333000},
        {"0.000244140625", 0x10000000000000},
        {"1", 0 /* 2^64 */},
        {"1.0", 0 /* 2^64 */},
        {"0.000000059604645", 0x1000000102f},
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t value;
        assert_null(pp_setting_read(PP_SETTING_TRACES, known[i].text, &value));
        assert_int_equal(pp_traces_highest(value), known[i].bound - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_are_those_of_python)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
