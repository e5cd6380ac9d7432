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

#include "preload/base/sanitizer.h"

/* Rounds that show a rule, of which sanitizers, for which bad memory is what counts, need fewer, as does an emulated
 * processor, for what is its own. */
#if defined PP_SANITIZED || defined __aarch64__
#define ROUNDS(plain, sanitized) (sanitized)
#else
#define ROUNDS(plain, sanitized) (plain)
#endif

/* Returns the size of a page, which differs between kernels. */
static inline size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

struct unit_test {
    const char *name;
    void (*run)(void);
    int line;
    struct unit_test *next;
};

void unit_register(struct unit_test *test);

#define TEST(name)                                                                                                     \
    static void name(void);                                                                                            \
    __attribute__((constructor)) static void register_##name(void)                                                     \
    {                                                                                                                  \
        static struct unit_test test = {#name, name, __LINE__, NULL};                                                  \
        unit_register(&test);                                                                                          \
    }                                                                                                                  \
    static void name(void)

/* A file defines those it needs: they run around each of its tests, or once around all of them. */
__attribute__((weak)) void before_each(void);
__attribute__((weak)) void after_each(void);
__attribute__((weak)) void before_all(void);
__attribute__((weak)) void after_all(void);

/* The directory for the files of a test: the working directory from scratch_make on. It goes with the test, or with all
 * tests if before_all has made it. */
extern char scratch_path[];
void scratch_make(void);

#endif
