/* Runs the tests that have registered themselves: see unit.h. */
#include "unit.h"
#include <errno.h>

static struct unit_test *first;
static size_t count;

void unit_register(struct unit_test *test)
{
    struct unit_test **at = &first;
    while (*at && (*at)->line < test->line)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
    count++;
}

int main(void)
{
    struct CMUnitTest *tests = calloc(count, sizeof *tests); /* freed by the end */
    size_t i = 0;
    for (const struct unit_test *test = first; test; test = test->next)
        tests[i++] = test->test;
    return _cmocka_run_group_tests(program_invocation_short_name, tests, count, NULL, NULL);
}
