/* How long modules hold for samples, while others are unloaded by dlclose and past it. */
#include "preload/modules/modules.h"
#include "unit.h"
#include <dlfcn.h>
#include <stdatomic.h>

void after_each(void)
{
    pp_modules_refresh();
}

/* Returns where a function of the library is. */
static uintptr_t load(unsigned library, void **handle)
{
    static const char *const names[][2] = {{"libz.so.1", "crc32"}, {"libBrokenLocale.so.1", "__ctype_get_mb_cur_max"}};
    *handle = dlopen(names[library][0], RTLD_NOW | RTLD_LOCAL);
    assert_non_null(*handle);
    return (uintptr_t)dlsym(*handle, names[library][1]);
}

/* Closes a library as the program does. */
static void unload(void *handle)
{
    atomic_fetch_add(&pp_unloads.begun, 1);
    assert_int_equal(dlclose(handle), 0);
    atomic_fetch_add(&pp_unloads.ended, 1);
}

TEST(modules_may_be_gone_until_it_is_known_what_was_unloaded)
{
    void *handle;
    load(0, &handle);
    pp_modules_refresh();
    assert_false(pp_modules_may_be_gone());
    atomic_fetch_add(&pp_unloads.begun, 1);
    assert_true(pp_modules_may_be_gone());
    assert_false(pp_modules_refresh());
    assert_true(pp_modules_may_be_gone()); /* it may be unloaded at any moment */
    atomic_fetch_add(&pp_unloads.ended, 1);
    assert_true(pp_modules_may_be_gone());
    assert_false(pp_modules_refresh()); /* it was loaded twice, say */
    assert_false(pp_modules_may_be_gone());
    unload(handle);
    assert_true(pp_modules_may_be_gone());
    assert_true(pp_modules_refresh());
    assert_false(pp_modules_may_be_gone());
}

static struct pp_module_time since_of(uintptr_t address)
{
    return pp_module_find(address)->since;
}

TEST(a_module_that_may_be_at_the_place_of_another_is_newer)
{
    void *handle, *again;
    uintptr_t address = load(0, &handle), stays = (uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
    pp_modules_refresh();
    struct pp_module_time before = pp_module_time_now();
    assert_true(pp_modules_hold_for(before));
    assert_false(pp_is_newer(since_of(address), before));
    unload(handle);
    address = load(1, &again);
    struct pp_module_time loaded = pp_module_time_now();
    assert_true(pp_modules_refresh());
    assert_false(pp_modules_hold_for(before) || pp_modules_hold_for(loaded));
    assert_true(pp_is_newer(since_of(address), before));
    assert_false(pp_is_newer(since_of(address), loaded));
    assert_false(pp_is_newer(since_of(stays), before));
    assert_true(pp_modules_hold_for(pp_module_time_now()));
    unload(again);
}

TEST(a_reading_may_lack_what_was_loaded_since_it_began)
{
    pp_modules_refresh();
    struct pp_module_time now = pp_module_time_now(), meanwhile = {now.unloads, now.readings - 1},
                          before = {now.unloads, now.readings - 2};
    assert_true(pp_modules_may_lack(now) && pp_modules_may_lack(meanwhile));
    assert_false(pp_modules_may_lack(before));
    pp_modules_refresh();
    assert_false(pp_modules_may_lack(now));
}

TEST(what_unloads_nothing_makes_no_module_newer)
{
    void *first, *second;
    load(0, &first);
    load(0, &second);
    pp_modules_refresh();
    struct pp_module_time before = pp_module_time_now();
    unload(second);
    pp_modules_refresh();
    assert_true(pp_modules_hold_for(before));
    /* a destructor jumps out of the call, which does not end */
    atomic_fetch_add(&pp_unloads.begun, 1);
    unload(first);
    load(1, &second);
    pp_modules_refresh();
    assert_false(pp_modules_hold_for(before));
    assert_true(pp_modules_hold_for(pp_module_time_now()));
    assert_true(pp_modules_may_be_gone());
    atomic_fetch_sub(&pp_unloads.begun, 1);
    unload(second);
}

TEST(what_is_unloaded_past_our_dlclose_is_noticed)
{
    void *handle, *other;
    load(0, &handle);
    pp_modules_refresh();
    struct pp_module_time before = pp_module_time_now();
    assert_int_equal(dlclose(handle), 0);
    uintptr_t address = load(1, &other);
    assert_true(pp_modules_refresh());
    assert_false(pp_modules_hold_for(before));
    assert_true(pp_is_newer(since_of(address), before));
    unload(other);
}
