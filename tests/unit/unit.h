/* What a unit test includes. A test registers itself; unit_main.c runs those of a file in their order.
 *
 *     TEST(what_is_promised)
 *     {
 *         assert_int_equal(...);
 *     }
 */
#ifndef PP_TESTS_UNIT_H
#define PP_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct unit_test {
    struct CMUnitTest test;
    int line;
    struct unit_test *next;
};

void unit_register(struct unit_test *test);

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* The test runs between set_up and tear_down: cmocka's fixtures, or NULL. */
#define TEST_WITH(name, set_up, tear_down)                                                                             \
    static void name(void **state);                                                                                    \
    __attribute__((constructor)) static void register_##name(void)                                                     \
    {                                                                                                                  \
        static struct unit_test test = {{#name, name, set_up, tear_down, NULL}, __LINE__, NULL};                       \
        unit_register(&test);                                                                                          \
    }                                                                                                                  \
    static void name(__attribute__((unused)) void **state)

#endif
