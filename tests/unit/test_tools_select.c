/* What the options leave of a profile. */
#include "log_fixture.h"
#include "tools/profile/select.h"
#include "tools/view/call_tree.h"
#include "tools/view/summary.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BIAS  0x7f0000000000u
#define WHOLE (FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS)

static struct pt_profile *example(const struct pt_load_request *request, uint64_t start)
{
    struct fixture log;
    struct pt_profile *profile = pt_profile_new(request);
    profile->run_start_unix_ns = start;
    fixture_example(&log, 100, BIAS);
    assert_int_equal(pt_profile_add_segment(profile, log.file.data, log.file.length, "example"), PT_READ_OK);
    pt_profile_finish(profile);
    fixture_end(&log);
    return profile;
}

/* CPU time that is left; 0 when pt_select says that nothing is. */
static uint64_t left_by(struct pt_selection select)
{
    const struct pt_load_request request = {.select = select};
    struct pt_profile *profile = example(NULL, 0);
    uint64_t start, end;
    pt_profile_span(profile, &start, &end);
    pt_profile_free(profile);
    profile = example(&request, start);
    bool any = pt_select(profile);
    uint64_t ns = pt_profile_cpu_ns(profile);
    assert_true(any ? ns > 0 : ns == 0);
    assert_true(!pt_selects(&select) || profile->whole_ns == WHOLE);
    pt_profile_free(profile);
    return ns;
}

static void nothing_asked_leaves_all(void **state)
{
    (void)state;
    assert_int_equal(left_by((struct pt_selection){0}), WHOLE);
}

static void processes_and_threads(void **state)
{
    (void)state;
    assert_int_equal(left_by((struct pt_selection){.pid = "7,100"}), WHOLE);
    assert_int_equal(left_by((struct pt_selection){.pid = "7"}), 0);
    assert_int_equal(left_by((struct pt_selection){.pid = "10"}), 0);
    assert_int_equal(left_by((struct pt_selection){.thread = "101"}), 35000000);
    assert_int_equal(left_by((struct pt_selection){.thread = "^worker"}), 35000000);
    assert_int_equal(left_by((struct pt_selection){.thread = "^MainThread$"}), 60000000);
}

static void stacks(void **state)
{
    (void)state;
    assert_int_equal(left_by((struct pt_selection){.focus = "fib"}), 70000000);
    assert_int_equal(left_by((struct pt_selection){.ignore = "fib"}), WHOLE - 70000000);
    assert_int_equal(left_by((struct pt_selection){.focus = "sum_squares|\\[unsampled\\]"}), WHOLE - 65000000);
    assert_int_equal(left_by((struct pt_selection){.focus = "^main \\(app.py:10\\)$", .ignore = "fib"}), 25000000);
}

/* Slices next to each other hold everything once. */
static void times(void **state)
{
    (void)state;
    uint64_t sum = 0;
    for (uint64_t from = 0; from < 2000000000u; from += 100000000u)
        sum += left_by((struct pt_selection){.from_ns = from, .to_ns = from + 100000000u});
    assert_int_equal(sum, WHOLE);
    assert_int_equal(left_by((struct pt_selection){.from_ns = 501000000u}), FIXTURE_PENDING_NS);
}

static void without_native_code_the_sum_stays(void **state)
{
    (void)state;
    const struct pt_load_request request = {.select = {.no_native = true}};
    struct pt_profile *profile = example(&request, 0);
    assert_true(pt_select(profile));
    assert_false(profile->selected);
    assert_int_equal(pt_profile_cpu_ns(profile), WHOLE);
    const struct pt_view_options options = {.only_process = PT_NONE, .only_thread = PT_NONE};
    struct pt_view *view = pt_view_new(profile, &options);
    for (uint32_t i = 1; i < view->nodes.count; i++)
        assert_int_not_equal(profile->frames.items[view->nodes.items[i].frame].kind, PP_FRAME_NATIVE);
    assert_int_equal(view->nodes.items[0].total_ns, WHOLE);
    pt_view_free(view);
    pt_profile_free(profile);
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
