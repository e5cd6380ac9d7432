/* What the options leave of a profile. */
#include "log_fixture.h"
#include "tools/profile/select.h"
#include "tools/profile/summary.h"
#include "tools/profile/view.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BIAS  0x7f0000000000u
#define WHOLE (FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS)

static struct pp_profile *example_of(const struct pp_choice *choice)
{
    struct fixture log;
    struct pp_profile *profile = pp_profile_new();
    profile->choice = choice;
    fixture_example(&log, 100, BIAS);
    assert_int_equal(pp_profile_add_segment(profile, log.file.data, log.file.length, "example"), PP_READ_OK);
    pp_profile_finish(profile);
    fixture_end(&log);
    return profile;
}

static struct pp_profile *example(void)
{
    return example_of(NULL);
}

/* CPU time that is left; 0 when pp_select says that nothing is. */
static uint64_t left_by(struct pp_cli cli)
{
    struct pp_profile *profile = example();
    uint64_t start, end;
    if (!cli.to_ns)
        cli.to_ns = UINT64_MAX;
    pp_summary_span(profile, &start, &end);
    pp_profile_free(profile);
    struct pp_choice *choice = pp_choice_new(&cli, start);
    profile = example_of(choice);
    bool any = pp_select(profile, &cli);
    uint64_t ns = pp_profile_cpu_ns(profile);
    assert_true(any ? ns > 0 : ns == 0);
    assert_true(!pp_selects(&cli) || profile->whole_ns == WHOLE);
    pp_profile_free(profile);
    free(choice);
    return ns;
}

static void nothing_asked_leaves_all(void **state)
{
    (void)state;
    assert_int_equal(left_by((struct pp_cli){0}), WHOLE);
}

static void processes_and_threads(void **state)
{
    (void)state;
    assert_int_equal(left_by((struct pp_cli){.pid = "7,100"}), WHOLE);
    assert_int_equal(left_by((struct pp_cli){.pid = "7"}), 0);
    assert_int_equal(left_by((struct pp_cli){.pid = "10"}), 0);
    assert_int_equal(left_by((struct pp_cli){.thread = "101"}), 35000000);
    assert_int_equal(left_by((struct pp_cli){.thread = "^worker"}), 35000000);
    assert_int_equal(left_by((struct pp_cli){.thread = "^MainThread$"}), 60000000);
}

static void stacks(void **state)
{
    (void)state;
    assert_int_equal(left_by((struct pp_cli){.focus = "fib"}), 70000000);
    assert_int_equal(left_by((struct pp_cli){.ignore = "fib"}), WHOLE - 70000000);
    assert_int_equal(left_by((struct pp_cli){.focus = "sum_squares|\\[unsampled\\]"}), WHOLE - 65000000);
    assert_int_equal(left_by((struct pp_cli){.focus = "^main \\(app.py:10\\)$", .ignore = "fib"}), 25000000);
}

/* Slices next to each other hold everything once. */
static void times(void **state)
{
    (void)state;
    uint64_t sum = 0;
    for (uint64_t from = 0; from < 2000000000u; from += 100000000u)
        sum += left_by((struct pp_cli){.from_ns = from, .to_ns = from + 100000000u});
    assert_int_equal(sum, WHOLE);
    assert_int_equal(left_by((struct pp_cli){.from_ns = 501000000u}), FIXTURE_PENDING_NS);
}

static void without_native_code_the_sum_stays(void **state)
{
    (void)state;
    struct pp_profile *profile = example();
    assert_true(pp_select(profile, &(struct pp_cli){.no_native = true, .to_ns = UINT64_MAX}));
    assert_false(profile->selected);
    assert_int_equal(pp_profile_cpu_ns(profile), WHOLE);
    const struct pp_view_options options = {.only_process = PP_NONE, .only_thread = PP_NONE};
    struct pp_view *view = pp_view_new(profile, &options);
    for (uint32_t i = 1; i < view->nodes.count; i++)
        assert_int_not_equal(profile->frames.items[view->nodes.items[i].frame].kind, PP_FRAME_NATIVE);
    assert_int_equal(view->nodes.items[0].total_ns, WHOLE);
    pp_view_free(view);
    pp_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_leaves_all),
        cmocka_unit_test(processes_and_threads),
        cmocka_unit_test(stacks),
        cmocka_unit_test(times),
        cmocka_unit_test(without_native_code_the_sum_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
