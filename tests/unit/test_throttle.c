/* The rate goes down at once when samples are too dear, and comes back in steps when they are cheap. */
#include "preload/flush/throttle.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define MS        1000000u
#define PERCENT   10000u /* in ppm */
#define WINDOW_MS 5000u

static struct pp_throttle throttle;

static int reset(void **state)
{
    (void)state;
    pp_throttle_reset(&throttle, 10 * MS, PERCENT);
    return 0;
}

/* A window of CPU time in flushes of a second, whose samples cost so much of it at the configured rate. */
static bool window(uint64_t cost_ppm_at_full_rate)
{
    bool changed = false;
    uint64_t cost_ppm = cost_ppm_at_full_rate * throttle.configured_ns / throttle.period_ns;
    for (unsigned ms = 0; ms < WINDOW_MS; ms += 1000)
        changed |= pp_throttle_add(&throttle, 1000 * (uint64_t)MS, cost_ppm * 1000, 0);
    return changed;
}

static void cheap_samples_change_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++)
        assert_false(window(PERCENT));
    assert_int_equal(throttle.period_ns, 10 * MS);
}

static void nothing_is_decided_before_a_window_is_full(void **state)
{
    (void)state;
    assert_false(pp_throttle_add(&throttle, 4999 * (uint64_t)MS, 1000 * (uint64_t)MS, 0));
    assert_true(pp_throttle_add(&throttle, MS, 0, 0));
}

static void dear_samples_are_brought_below_the_limit_in_one_step(void **state)
{
    (void)state;
    assert_true(window(5 * PERCENT));
    assert_int_equal(throttle.period_ns, 80 * MS);
    assert_int_equal(throttle.share_ppm, 5 * PERCENT);
    for (unsigned i = 0; i < 10; i++)
        assert_false(window(5 * PERCENT));
}

static void the_rate_comes_back_when_they_are_cheap_again(void **state)
{
    (void)state;
    window(5 * PERCENT);
    unsigned windows = 0;
    uint64_t longest = throttle.period_ns;
    while (throttle.period_ns > throttle.configured_ns && windows < 100) {
        uint64_t before = throttle.period_ns;
        window(PERCENT / 4);
        assert_true(throttle.period_ns == before || throttle.period_ns == before / 2);
        assert_true(throttle.period_ns <= longest);
        windows++;
    }
    assert_int_equal(throttle.period_ns, 10 * MS);
    assert_int_equal(windows, 9);
}

/* Just below the limit at half the rate: doubling it would be too dear again. */
static void it_does_not_swing(void **state)
{
    (void)state;
    assert_true(window(PERCENT + PERCENT / 10));
    assert_int_equal(throttle.period_ns, 20 * MS);
    for (unsigned i = 0; i < 50; i++)
        assert_false(window(PERCENT + PERCENT / 10));
}

/* Measured: what ends of threads cost was taken for the samples', and the rate fell to 1 Hz without saving anything. */
static void a_cost_that_does_not_follow_the_rate_is_left_alone(void **state)
{
    (void)state;
    bool changed = false;
    for (unsigned i = 0; i < 30; i++) {
        for (unsigned ms = 0; ms < WINDOW_MS; ms += 1000)
            changed |= pp_throttle_add(&throttle, 1000 * (uint64_t)MS, 25 * (uint64_t)MS, 0);
        assert_true(throttle.period_ns <= 40 * MS);
    }
    assert_true(changed);
    assert_int_equal(throttle.period_ns, 10 * MS);
}

static void a_single_dear_window_says_nothing(void **state)
{
    (void)state;
    assert_true(window(5 * PERCENT));
    assert_int_equal(throttle.period_ns, 80 * MS);
    window(40 * PERCENT);
    assert_int_equal(throttle.period_ns, 80 * MS);
    assert_false(window(5 * PERCENT));
    assert_false(throttle.useless);
    assert_int_equal(throttle.period_ns, 80 * MS);
}

static void dear_handlers_are_slowed_down_within_half_a_second(void **state)
{
    (void)state;
    /* 1 % of half a second is reached at the third sample */
    assert_false(pp_throttle_add(&throttle, 10 * MS, 2 * MS, 2 * MS));
    assert_false(pp_throttle_add(&throttle, 10 * MS, 2 * MS, 2 * MS));
    assert_true(pp_throttle_add(&throttle, 10 * MS, 2 * MS, 2 * MS));
    assert_int_equal(throttle.period_ns, 20 * MS);
    uint64_t cpu_ns = 0;
    for (; cpu_ns < 500 * (uint64_t)MS; cpu_ns += throttle.period_ns)
        pp_throttle_add(&throttle, throttle.period_ns, 16 * MS, 16 * MS);
    assert_true(throttle.period_ns == 1000 * (uint64_t)MS);
}

static void handlers_below_the_limit_change_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3000; i++)
        assert_false(pp_throttle_add(&throttle, 10 * MS, MS / 11, MS / 11));
}

static void the_lowest_rate_is_one_a_second(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++)
        window(900000);
    assert_true(throttle.period_ns <= 1000 * (uint64_t)MS);
    pp_throttle_reset(&throttle, 1000 * (uint64_t)MS, PERCENT);
    assert_false(window(900000));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, reset)
    const struct CMUnitTest tests[] = {
        TEST(cheap_samples_change_nothing),
        TEST(nothing_is_decided_before_a_window_is_full),
        TEST(dear_samples_are_brought_below_the_limit_in_one_step),
        TEST(the_rate_comes_back_when_they_are_cheap_again),
        TEST(it_does_not_swing),
        TEST(a_cost_that_does_not_follow_the_rate_is_left_alone),
        TEST(a_single_dear_window_says_nothing),
        TEST(dear_handlers_are_slowed_down_within_half_a_second),
        TEST(handlers_below_the_limit_change_nothing),
        TEST(the_lowest_rate_is_one_a_second),
    };
    return cmocka_run_group_tests_name("throttle", tests, NULL, NULL);
}
