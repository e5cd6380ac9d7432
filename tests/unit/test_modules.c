/* The list of modules while objects come and go. */
#include "preload/modules/loaded_objects.h"
#include "preload/modules/modules.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static unsigned came_and_went;

/* Something else is loaded and unloaded after each step inside the loader. */
static void come_and_go(void)
{
    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_int_equal(dlclose(library), 0);
    came_and_went++;
}

static void has_rows(uintptr_t address)
{
    uintptr_t start, end;
    struct pp_module *module = pp_module_find(address);
    assert_non_null(module);
    assert_true(pp_module_function_range(module, address, &start, &end));
    assert_true(start <= address && address < end);
}

static void those_that_stay_get_their_rows(void **state)
{
    (void)state;
    pp_loaded_objects_set_gate(NULL, come_and_go);
    pp_modules_refresh();
    assert_true(came_and_went >= 2);
    has_rows((uintptr_t)those_that_stay_get_their_rows);
    has_rows((uintptr_t)dlsym(RTLD_DEFAULT, "qsort"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(those_that_stay_get_their_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
