/* The rate goes down at once when samples are too dear, and comes back in steps when they are cheap. */
#include "preload/flush/throttle.h"
#include "unit.h"
#include <stdbool.h>

#define MS             1000000u
#define PERCENT        10000u /* in ppm */
#define WINDOW_SECONDS 5

static struct pp_throttle throttle;

void before_each(void)
{
    pp_throttle_reset(&throttle, 10 * MS, PERCENT);
}

/* Flushes of a second, with the samples that are due and their cost. */
static bool flushes(unsigned seconds, uint64_t cost_ppm_at_full_rate)
{
    bool changed = false;
    for (unsigned i = 0; i < seconds; i++) {
        uint64_t cost_ppm = cost_ppm_at_full_rate * throttle.configured_ns / throttle.period_ns;
        uint64_t samples = 1000 * (uint64_t)MS / throttle.period_ns;
        changed |= pp_throttle_add(&throttle, 1000 * (uint64_t)MS, samples, cost_ppm * 1000);
    }
    return changed;
}

static bool window(uint64_t cost_ppm_at_full_rate)
{
    return flushes(WINDOW_SECONDS, cost_ppm_at_full_rate);
}

TEST(cheap_samples_change_nothing)
{
    for (unsigned i = 0; i < 20; i++)
        assert_false(window(PERCENT));
    assert_int_equal(throttle.period_ns, 10 * MS);
}

TEST(a_dear_moment_in_a_cheap_window_is_allowed)
{
    assert_false(flushes(3, PERCENT / 2));
    assert_false(flushes(1, 2 * PERCENT));
    assert_false(flushes(1, PERCENT / 2));
}

TEST(dear_samples_are_brought_below_the_limit_in_one_step)
{
    assert_true(flushes(1, 5 * PERCENT));
    assert_int_equal(throttle.period_ns, 80 * MS);
    assert_int_equal(throttle.share_ppm, 5 * PERCENT);
    for (unsigned i = 0; i < 10; i++)
        assert_false(window(5 * PERCENT));
}

TEST(the_rate_comes_back_when_they_are_cheap_again)
{
    flushes(1, 5 * PERCENT);
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
TEST(it_does_not_swing)
{
    assert_true(window(PERCENT + PERCENT / 10));
    assert_int_equal(throttle.period_ns, 20 * MS);
    for (unsigned i = 0; i < 50; i++)
        assert_false(window(PERCENT + PERCENT / 10));
}

/* Threads of 4 ms, each sampled once at its first tick: as many at any rate. */
TEST(samples_that_do_not_follow_the_rate_count_as_if_they_did)
{
    for (unsigned i = 0; i < 30; i++)
        assert_false(pp_throttle_add(&throttle, 1000 * (uint64_t)MS, 250, 250 * (uint64_t)MS / 11));
    assert_int_equal(throttle.period_ns, 10 * MS);
    assert_true(pp_throttle_add(&throttle, 1000 * (uint64_t)MS, 250, 250 * (uint64_t)MS));
}

TEST(dear_samples_are_slowed_down_within_half_a_second)
{
    /* 1 % of half a second is reached at the third sample */
    assert_false(pp_throttle_add(&throttle, 10 * MS, 1, 2 * MS));
    assert_false(pp_throttle_add(&throttle, 10 * MS, 1, 2 * MS));
    assert_true(pp_throttle_add(&throttle, 10 * MS, 1, 2 * MS));
    assert_int_equal(throttle.period_ns, 20 * MS);
    uint64_t cpu_ns = 0;
    for (; cpu_ns < 500 * (uint64_t)MS; cpu_ns += throttle.period_ns)
        pp_throttle_add(&throttle, throttle.period_ns, 1, 16 * MS);
    assert_true(throttle.period_ns == 1000 * (uint64_t)MS);
}

TEST(samples_below_the_limit_change_nothing)
{
    for (unsigned i = 0; i < 3000; i++)
        assert_false(pp_throttle_add(&throttle, 10 * MS, 1, MS / 11));
}

TEST(the_lowest_rate_is_one_a_second)
{
    for (unsigned i = 0; i < 20; i++)
        window(900000);
    assert_true(throttle.period_ns <= 1000 * (uint64_t)MS);
    pp_throttle_reset(&throttle, 1000 * (uint64_t)MS, PERCENT);
    assert_false(window(900000));
}
