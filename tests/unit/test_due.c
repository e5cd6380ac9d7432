/* Which signals become samples, in a thread with a perf event, and what they represent: its CPU time, to the last ns.
 */
#include "context_registers.h"
#include "preload/capture/capture.h"
#include "preload/handler/due.h"
#include "unit.h"

#define MS        UINT64_C(1000000)
#define PERIOD_NS (10 * MS)
#define TICK_NS   (4 * MS)

static struct pp_slot *slot;
static ucontext_t in_call, in_own_code;
static uint64_t cpu_ns, now_ns, sampled_ns, samples;

void before_each(void)
{
    slot = calloc(1, sizeof *slot);
    cpu_ns = now_ns = sampled_ns = samples = 0;
    pp_capture.tick_ns = TICK_NS;
    atomic_store(&pp_capture.overdue_ns, PERIOD_NS + 3 * TICK_NS / 2);
    atomic_store(&pp_capture.wake, 0);
    put_pc(&in_own_code, 0x1000);
    put_in_call(&in_call);
}

void after_each(void)
{
    free(slot);
}

static void give_event(uint64_t period_ns, uint64_t due_ns)
{
    atomic_store(&slot->thread.event_begun_ns, cpu_ns);
    atomic_store(&slot->thread.event_period_ns, period_ns);
    atomic_store(&slot->thread.event_due_ns, due_ns);
}

/* Returns what the signal represents; it is counted as a sample if it is due. */
static uint64_t signal_at(uint64_t at_ns, bool event, const ucontext_t *context)
{
    uint64_t due_ns = 0;
    if (at_ns > cpu_ns) /* it waits after each of its signals, for an odd time */
        now_ns += at_ns - cpu_ns + 1234567;
    cpu_ns = at_ns;
    if (!pp_is_due(slot, &(struct pp_signal){event, context, at_ns, now_ns}, &due_ns))
        return 0;
    atomic_store(&slot->thread.cpu_end_ns, at_ns);
    samples++;
    sampled_ns += due_ns;
    return due_ns;
}

static uint64_t event_at(uint64_t at_ns)
{
    return signal_at(at_ns, true, &in_own_code);
}

static uint64_t call_at(uint64_t at_ns)
{
    return signal_at(at_ns, false, &in_call);
}

/* A tick in the thread's own code: the kernel has counted it as that. */
static uint64_t tick_at(uint64_t at_ns)
{
    slot->thread.system_ns = UINT64_MAX;
    return signal_at(at_ns, false, &in_own_code);
}

TEST(without_an_event_every_tick_is_a_sample)
{
    uint64_t due_ns = 1;
    assert_true(pp_is_due(slot, &(struct pp_signal){false, &in_own_code, 4 * MS, 0}, &due_ns));
    assert_int_equal(due_ns, 0);
    assert_false(pp_is_due(slot, &(struct pp_signal){true, &in_own_code, 5 * MS, 0}, &due_ns));
    assert_int_equal(atomic_load(&pp_capture.wake), 0);
}

TEST(a_tick_in_the_kernel_represents_the_time_since_the_last)
{
    give_event(PERIOD_NS, PERIOD_NS);
    assert_int_equal(call_at(4 * MS), 4 * MS);
    assert_int_equal(call_at(8 * MS), 0);
    assert_int_equal(tick_at(12 * MS), 0);
    assert_int_equal(call_at(16 * MS), 0);
    assert_in_range(call_at(20 * MS), 8 * MS, 10 * MS);
}

/* A tick in the kernel that is not in a system call. */
static uint64_t fault_at(uint64_t at_ns)
{
    slot->thread.system_ns = 0;
    while (pp_sys_clock_ns(-4) <= pp_sys_clock_ns(-3))
        free(calloc(4096, 4096));
    return signal_at(at_ns, false, &in_own_code);
}

TEST(a_page_fault_is_known_by_the_kernels_count_of_ticks)
{
    give_event(PERIOD_NS, PERIOD_NS);
    event_at(10 * MS);
    assert_int_equal(tick_at(14 * MS), 0);
    assert_in_range(fault_at(22 * MS), 7 * MS, 10 * MS);
}

/* At 5000 samples a second 8 % of the ticks in a loop of arithmetic did, each taken for 4 ms in the kernel. */
TEST(a_tick_in_the_kernels_work_for_our_signal_is_no_sample)
{
    give_event(PERIOD_NS, PERIOD_NS);
    event_at(11 * MS);
    assert_int_equal(fault_at(11 * MS + 8000), 0);
    event_at(22 * MS);
    assert_in_range(fault_at(22 * MS + 80000), 7 * MS, 13 * MS);
}

/* A thread that is in the kernel for so many permille of the time, in turns of a random length. */
static void run(unsigned kernel_permille, uint64_t until_ns)
{
    uint64_t expiry = PERIOD_NS, tick = TICK_NS, turn_end = 0, at = 0;
    bool kernel = false;
    while (at < until_ns) {
        at = expiry < tick ? expiry : tick;
        at = turn_end < at ? turn_end : at;
        if (at == turn_end) {
            kernel = (unsigned)(rand() % 1000) < kernel_permille;
            turn_end += (uint64_t)(rand() % 3000 + 1) * 1000;
        } else if (at == expiry) {
            if (!kernel)
                event_at(at);
            expiry += PERIOD_NS;
        } else {
            if (kernel)
                call_at(at);
            else
                tick_at(at);
            tick += TICK_NS;
        }
    }
}

TEST(there_are_as_many_samples_as_periods_whatever_the_kernels_part)
{
    for (unsigned permille = 0; permille <= 900; permille += 100) {
        after_each();
        before_each();
        give_event(PERIOD_NS, PERIOD_NS);
        run(permille, 10000 * MS);
        /* 4 sigma of chance, and what still waits for the next ticks */
        assert_in_range(sampled_ns, 9850 * MS, 10050 * MS);
        assert_in_range(samples, 910, 1090);
    }
}

TEST(a_first_period_that_is_shorter_signals_once)
{
    cpu_ns = 100 * MS;
    give_event(3 * MS, PERIOD_NS);
    assert_int_equal(event_at(103 * MS), PERIOD_NS);
    assert_true(atomic_load(&slot->thread.asked_for_event));
    assert_int_equal(atomic_load(&pp_capture.wake), PP_WAKE_EVENT);
    assert_int_equal(event_at(106 * MS), 0);
    atomic_store(&slot->thread.event_period_ns, PERIOD_NS);
    assert_int_equal(event_at(113 * MS), PERIOD_NS);
}

TEST(what_no_tick_meets_is_bounded)
{
    give_event(PERIOD_NS, PERIOD_NS);
    event_at(10 * MS);
    event_at(1010 * MS);
    /* the function that it met has not run all that time */
    assert_int_equal(call_at(1012 * MS), 16 * MS / 2);
    /* and what they meet too often is not taken for more than it is */
    for (unsigned i = 1; i <= 100; i++) {
        event_at(1012 * MS + i * PERIOD_NS);
        call_at(1013 * MS + i * PERIOD_NS);
    }
    assert_in_range(sampled_ns, 1020 * MS + 64 * MS, 1020 * MS + (64 + 2 + 16) * MS);
}

/* Rounds of 2 ms from a quarter of a tick before each tick on, three quarters in the kernel, all of it at ticks. */
static void run_in_step(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        now_ns = (1000 + i) * TICK_NS;
        uint64_t due_ns = 0, begun_ns = i * 2 * MS;
        cpu_ns = begun_ns + MS;
        if (pp_is_due(slot, &(struct pp_signal){false, &in_call, cpu_ns, now_ns}, &due_ns))
            sampled_ns += due_ns;
        cpu_ns = begun_ns + (unsigned)rand() % 2000 * MS / 1000;
        now_ns = (1000 + i) * TICK_NS + cpu_ns - begun_ns - MS;
        if (i % 5 == 4 && rand() % 4 == 0)
            pp_is_due(slot, &(struct pp_signal){true, &in_own_code, cpu_ns, now_ns}, &due_ns);
    }
}

TEST(a_tick_at_one_place_of_each_round_represents_the_time_at_that_place)
{
    give_event(PERIOD_NS, PERIOD_NS);
    run_in_step(0, 2000);
    uint64_t before_ns = sampled_ns;
    run_in_step(2000, 10000);
    /* a fourth of 16 s are at the tick's eighth, not the 12 that the kernel had */
    assert_in_range(sampled_ns - before_ns, 3000 * MS, 5000 * MS);
}

TEST(a_thread_that_is_out_of_step_again_is_sampled_by_ticks_as_before)
{
    give_event(PERIOD_NS, PERIOD_NS);
    run_in_step(0, 2000);
    uint64_t before_ns = 0, begun_ns = cpu_ns;
    for (unsigned i = 1; i <= 1256; i++) {
        if (i == 256)
            before_ns = sampled_ns;
        call_at(begun_ns + i * 2 * PERIOD_NS - PERIOD_NS / 2);
        event_at(begun_ns + i * 2 * PERIOD_NS); /* an expiry before was in the kernel */
    }
    assert_in_range(sampled_ns - before_ns, 19500 * MS, 20500 * MS);
}
