/* Runs the tests that have registered themselves: see unit.h. */
#include "unit.h"
#include <errno.h>
#include <stdbool.h>
#include <sys/uio.h>

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

char scratch_path[64];

void scratch_make(void)
{
    strcpy(scratch_path, "/tmp/pyprof-unit.XXXXXX");
    assert_non_null(mkdtemp(scratch_path));
    assert_int_equal(chdir(scratch_path), 0);
}

static void run(void **state)
{
    const struct unit_test *test = *state;
    test->run();
}

static bool scratch_of_all;

static void scratch_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_path);
    assert_int_equal(*scratch_path ? chdir("/") | system(command) : 0, 0);
    *scratch_path = '\0';
}

#define FIXTURE(function, then)                                                                                        \
    static int run_##function(__attribute__((unused)) void **state)                                                    \
    {                                                                                                                  \
        if (function)                                                                                                  \
            function();                                                                                                \
        then;                                                                                                          \
        return 0;                                                                                                      \
    }
FIXTURE(before_each, )
FIXTURE(after_each, scratch_of_all ? (void)0 : scratch_remove())
FIXTURE(before_all, scratch_of_all = *scratch_path)
FIXTURE(after_all, scratch_remove())

/* Of the library, where the test has that part of it. */
__attribute__((weak)) void pp_memory_file_begin(void);
__attribute__((weak)) void pp_process_begins(void);

/* An emulator may lack process_vm_readv: the library then begins as it does there. */
static void begin_reading(void)
{
    char byte = 0;
    struct iovec here = {&byte, 1};
    if (!pp_memory_file_begin || !pp_process_begins || process_vm_readv(getpid(), &here, 1, &here, 1, 0) == 1)
        return;
    pp_process_begins();
    pp_memory_file_begin();
}

int main(void)
{
    begin_reading();
    struct CMUnitTest *tests = calloc(count, sizeof *tests); /* freed by the end */
    size_t i = 0;
    for (struct unit_test *test = first; test; test = test->next)
        tests[i++] = (struct CMUnitTest){test->name, run, run_before_each, run_after_each, test};
    return count ? _cmocka_run_group_tests(program_invocation_short_name, tests, count, run_before_all, run_after_all)
                 : 1;
}
