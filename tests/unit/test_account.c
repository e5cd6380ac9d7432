/* What a sample weighs, and that every nanosecond of a thread gets one place. */
#include "preload/capture/capture.h"
#include "preload/flush/account.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS       1000000u
#define BOUND_NS (50 * MS)

static struct pp_account account;
static struct pp_slot *slot;

static int reset(void **state)
{
    (void)state;
    account = (struct pp_account){0};
    slot = calloc(1, sizeof *slot);
    return slot ? 0 : -1;
}

static int done(void **state)
{
    (void)state;
    free(slot);
    return 0;
}

/* A sample at cpu_ms of the thread's clock, whose previous one was at previous_ms. */
static struct pp_charge sample(uint64_t previous_ms, uint64_t cpu_ms, uint32_t voluntary, uint32_t involuntary)
{
    struct pp_record_sample record = {
        .cpu_previous_ns = previous_ms * MS,
        .cpu_ns = cpu_ms * MS,
        .voluntary = voluntary,
        .involuntary = involuntary,
    };
    return pp_account_sample(&account, slot, &record, BOUND_NS);
}

static void a_sample_weighs_what_was_burned(void **state)
{
    (void)state;
    struct pp_charge charge = sample(0, 10, 0, 0);
    assert_int_equal(charge.sampled_ns, 10 * MS);
    assert_int_equal(charge.unsampled_ns, 0);
    assert_int_equal(account.samples, 1);
    assert_int_equal(account.sampled_ns, 10 * MS);
}

/* Measured: 751 ms of work between the ticks fell on the next function that met one, and f came out as 16 ms. */
static void a_backlog_does_not_fall_on_the_next_sample(void **state)
{
    (void)state;
    struct pp_charge charge = sample(0, 751, 1000, 1);
    assert_int_equal(charge.sampled_ns, BOUND_NS);
    assert_int_equal(charge.unsampled_ns, 701 * MS);
    assert_int_equal(account.sampled_ns + account.unsampled_ns, 751 * MS);
    charge = sample(751, 751 + 200, 5, 0);
    assert_int_equal(charge.sampled_ns, BOUND_NS);
    /* one that nobody switched at all ran all the time, and met no tick: who knows why */
    charge = sample(951, 951 + 200, 0, 0);
    assert_int_equal(charge.sampled_ns, BOUND_NS);
}

static void pushed_off_it_weighs_all(void **state)
{
    (void)state;
    assert_int_equal(sample(0, 200, 0, 9).sampled_ns, 200 * MS);
    assert_int_equal(sample(200, 400, 39, 9).sampled_ns, 200 * MS);
    assert_int_equal(account.unsampled_ns, 0);
    /* beside so many pauses of its own the few that others made say nothing */
    assert_int_equal(sample(400, 600, 40, 9).sampled_ns, BOUND_NS);
    assert_int_equal(account.unsampled_ns, 150 * MS);
}

static void an_end_closes_the_thread(void **state)
{
    (void)state;
    struct pp_record_sample record = {
        .cpu_ns = 20 * MS, .cpu_previous_ns = 8 * MS, .own_ns = MS, .lost_ns = 7 * MS, .lost_samples = 2};
    struct pp_charge charge = pp_account_sample(&account, slot, &record, BOUND_NS);
    assert_int_equal(charge.lost_ns, 7 * MS);
    assert_int_equal(charge.lost_samples, 2);
    /* the handler's own time after that sample, a loss, and what was burned up to the end */
    atomic_store(&slot->own_ns, 2 * MS);
    atomic_store(&slot->lost_ns, 10 * MS);
    atomic_store(&slot->lost_samples, 3);
    atomic_store(&slot->final_cpu_ns, 30 * MS);
    charge = pp_account_end(&account, slot);
    assert_int_equal(charge.lost_ns, 3 * MS);
    assert_int_equal(charge.lost_samples, 1);
    assert_int_equal(charge.unsampled_ns, 30 * MS - 12 * MS - 2 * MS - 10 * MS);
    assert_int_equal(account.sampled_ns + account.unsampled_ns + account.lost_ns + (uint64_t)account.own_ns, 30 * MS);
    assert_int_equal(account.exited_threads, 1);
    assert_int_equal(account.exited_cpu_ns, 30 * MS);
    assert_int_equal(pp_account_end(&account, slot).unsampled_ns, 0);
}

/* What is burned is ours here: no thread is registered, so the whole clock is a residue. */
static void exits_are_billed_up_to_a_bound(void **state)
{
    (void)state;
    account.exited_threads = 3;
    uint64_t fresh = pp_account_close(&account, 0, 0);
    assert_true(fresh <= 3 * 20000);
    assert_int_equal(account.thread_exit_ns, fresh);
    assert_int_equal((int64_t)account.cpu_ns, (int64_t)account.thread_exit_ns + account.difference_ns);
    /* it never goes back, and what waits for a place is pending */
    assert_int_equal(pp_account_close(&account, account.cpu_ns, 5 * MS), 0);
    assert_int_equal(account.thread_exit_ns, fresh);
    assert_int_equal(account.pending_ns, 5 * MS);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, reset, done)
    const struct CMUnitTest tests[] = {
        TEST(a_sample_weighs_what_was_burned), TEST(a_backlog_does_not_fall_on_the_next_sample),
        TEST(pushed_off_it_weighs_all),        TEST(an_end_closes_the_thread),
        TEST(exits_are_billed_up_to_a_bound),
    };
    return cmocka_run_group_tests_name("account", tests, NULL, NULL);
}
