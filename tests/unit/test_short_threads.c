/* The estimate for short threads: what goes in comes out, no stack draws more than it stands for, groups do not mix. */
#include "preload/account/short_threads.h"
#include "unit.h"

#define PERIOD 10000000u
#define TICK   4000000u
#define MS     1000000u
#define NODES  100u

static uint64_t by_node[NODES], by_thread[NODES], unsampled_ns;

static void credit(uint32_t thread, struct pp_leaf leaf, uint64_t ns)
{
    by_node[leaf.node] += ns;
    by_thread[thread] += ns;
}

static void unsampled(uint32_t thread, uint64_t ns)
{
    (void)thread;
    unsampled_ns += ns;
}

void before_each(void)
{
    memset(by_node, 0, sizeof by_node);
    memset(by_thread, 0, sizeof by_thread);
    unsampled_ns = 0;
    pp_short_threads_reset();
}

static bool ends(uintptr_t kind, uint64_t cpu, uint64_t tail, uint32_t thread, uint32_t node)
{
    const struct pp_leaf leaf = {node, 0, 0};
    struct pp_ended_thread ended = {kind, cpu, tail, thread, false, node != 0, &leaf};
    return pp_short_threads_end(&ended, PERIOD, TICK);
}

/* A thread of 1 ms that others pushed off its CPU; node 0: it was not seen. */
static void pushed_off_ends(uint32_t node)
{
    const struct pp_leaf leaf = {node, 0, 0};
    struct pp_ended_thread ended = {1, MS, MS, node, true, node != 0, &leaf};
    assert_true(pp_short_threads_end(&ended, PERIOD, TICK));
}

TEST(tails_go_to_their_like)
{
    /* of ten threads of 2 ms one was sampled; the tails before it wait for it */
    for (uint32_t i = 1; i <= 4; i++)
        assert_true(ends(1, 2 * MS, 2 * MS, i, 0));
    pp_short_threads_settle(credit, unsampled, false);
    assert_int_equal(pp_short_threads_waiting_ns(), 8 * MS);
    assert_true(ends(1, 2 * MS, 1 * MS, 5, 7));
    pp_short_threads_settle(credit, unsampled, false);
    /* it stands for T/p = 4 ms, and may draw twice that */
    assert_int_equal(by_node[7] + pp_short_threads_waiting_ns(), 9 * MS);
    assert_true(by_node[7] <= 8 * MS && by_node[7] >= 6 * MS);
    pp_short_threads_settle(credit, unsampled, true);
    assert_int_equal(by_node[7] + unsampled_ns, 9 * MS);
    assert_int_equal(pp_short_threads_waiting_ns(), 0);
    /* credited time stays with the thread that used it */
    for (uint32_t i = 1; i <= 4; i++)
        assert_true(by_thread[i] == 0 || by_thread[i] == 2 * MS);
}

TEST(groups_do_not_mix)
{
    assert_true(ends(1, 2 * MS, 1 * MS, 1, 7));
    assert_true(ends(2, 2 * MS, 2 * MS, 2, 0)); /* another start routine */
    assert_true(ends(1, 8 * MS, 8 * MS, 3, 0)); /* another length */
    pp_short_threads_settle(credit, unsampled, true);
    assert_int_equal(by_thread[1], 1 * MS);
    assert_int_equal(by_thread[2] + by_thread[3], 0);
    assert_int_equal(unsampled_ns, 10 * MS);
}

/* On two CPUs with three busy programs beside it 85 of 2,000 threads of 1 ms met a tick, where 500 should have. */
TEST(pushed_off_threads_share_what_was_seen)
{
    for (uint32_t i = 0; i < 2000; i++)
        pushed_off_ends(i % 25 ? 0 : 1 + i / 25);
    pp_short_threads_settle(credit, unsampled, false);
    assert_int_equal(pp_short_threads_waiting_ns(), 0);
    assert_int_equal(unsampled_ns, 0);
    for (uint32_t node = 1; node <= 80; node++)
        assert_int_equal(by_node[node], 25 * MS);
}

TEST(others_have_only_fair_parts)
{
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(ends(1, MS, MS, 1, 0));
    for (uint32_t node = 1; node <= 40; node++)
        pushed_off_ends(node);
    for (int i = 0; i < 100; i++)
        pp_short_threads_settle(credit, unsampled, false);
    for (uint32_t node = 1; node <= 40; node++)
        assert_int_equal(by_node[node], 9 * MS); /* two parts of a tick, and one of its like */
    assert_int_equal(unsampled_ns, (1000 - 320) * MS);
}

TEST(few_stacks_wait_for_more_to_share_with)
{
    for (uint32_t i = 0; i < 999; i++)
        pushed_off_ends(0);
    pushed_off_ends(1);
    pp_short_threads_settle(credit, unsampled, false);
    assert_int_equal(by_node[1], 0);
    for (uint32_t node = 2; node <= 50; node++)
        pushed_off_ends(node);
    pp_short_threads_settle(credit, unsampled, false);
    for (uint32_t node = 1; node <= 50; node++)
        assert_true(by_node[node] >= 20 * MS && by_node[node] <= 22 * MS);
    assert_int_equal(pp_short_threads_waiting_ns(), 0);
}

TEST(one_stack_does_not_draw_all)
{
    for (uint32_t i = 0; i < 999; i++)
        pushed_off_ends(0);
    pushed_off_ends(1);
    for (int i = 0; i < 100; i++)
        pp_short_threads_settle(credit, unsampled, false);
    assert_true(by_node[1] > 0 && by_node[1] <= 32 * TICK);
    assert_int_equal(by_node[1] + unsampled_ns, 1000 * MS);
}

TEST(long_threads_are_left_out)
{
    assert_false(ends(1, 41 * MS, 3 * MS, 1, 7));
    assert_int_equal(pp_short_threads_waiting_ns(), 0);
}

/* At 2,000 samples a second a thread of some milliseconds is as short as at 100: its first sample comes at a tick. */
TEST(a_period_below_the_ticks_makes_no_thread_long)
{
    const struct pp_leaf leaf = {7, 0, 0};
    struct pp_ended_thread seen = {1, 6 * MS, 2 * MS, 1, false, 1, &leaf},
                           unseen = {1, 6 * MS, 6 * MS, 2, false, 0, NULL};
    assert_true(pp_short_threads_end(&seen, MS / 2, TICK));
    assert_true(pp_short_threads_end(&unseen, MS / 2, TICK));
    pp_short_threads_settle(credit, unsampled, true);
    assert_int_equal(by_node[7] + unsampled_ns, 8 * MS);
}

/* Threads of 6 ms that do one thing in their first third and another in the rest, sampled at a random moment of a
 * period, after which a sample is certain. Without the weights the second had 87 % for 67. */
TEST(what_comes_late_in_a_life_has_its_share_only)
{
    srand(1);
    for (uint32_t i = 0; i < 3000; i++) {
        uint64_t at = (uint64_t)(rand() % (int)(PERIOD / 1000)) * 1000, all = 6 * MS;
        bool met = at < all;
        uint32_t node = at < 2 * MS ? 1 : 2;
        const struct pp_leaf leaf = {node, 0, at};
        struct pp_ended_thread ended = {1, all, met ? all - at : all, 1, false, met, &leaf};
        assert_true(pp_short_threads_end(&ended, PERIOD, PERIOD));
        if (met)
            by_node[node] += at;
        if (i % 100 == 99)
            pp_short_threads_settle(credit, unsampled, false);
    }
    pp_short_threads_settle(credit, unsampled, true);
    uint64_t all = by_node[1] + by_node[2];
    assert_int_equal(all + unsampled_ns, (uint64_t)18000 * MS);
    assert_true(unsampled_ns * 100 < all);
    assert_in_range(by_node[2] * 1000 / all, 627, 707); /* 4 sigma of 1800 samples */
}

TEST(nothing_waits_for_ever)
{
    assert_true(ends(1, 2 * MS, 2 * MS, 1, 0));
    for (int i = 0; i < 100; i++)
        pp_short_threads_settle(credit, unsampled, false);
    assert_int_equal(pp_short_threads_waiting_ns(), 0);
    assert_int_equal(unsampled_ns, 2 * MS);
}

TEST(memory_is_bounded_and_sums_hold)
{
    uint64_t taken = 0, refused = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        uint64_t cpu = 1000 + (uint64_t)i * 397 % (39 * MS);
        uint32_t node = i % 3 ? 0 : 1 + i % (NODES - 1);
        if (ends(i % 97, cpu, cpu / 2, i % NODES, node))
            taken += cpu / 2;
        else
            refused++;
        if (i % 1000 == 0)
            pp_short_threads_settle(credit, unsampled, false);
    }
    pp_short_threads_settle(credit, unsampled, true);
    uint64_t credited = 0;
    for (unsigned i = 0; i < NODES; i++)
        credited += by_node[i];
    assert_int_equal(credited + unsampled_ns, taken);
    assert_true(refused > 0 && credited > 0);
}
