/* What a sample weighs, and that every nanosecond of a thread gets one place. */
#include "preload/account/account.h"
#include "preload/base/syscalls.h"
#include "preload/capture/capture.h"
#include "preload/start.h"
#include "preload/threads/registry.h"
#include "unit.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#define MS 1000000u

static const struct pp_ticks ticks = {.period_ns = 10 * MS, .tick_ns = 4 * MS};

static struct pp_account account;
static struct pp_slot *slot;

void before_each(void)
{
    account = (struct pp_account){0};
    slot = calloc(1, sizeof *slot);
    assert_non_null(slot);
}

void after_each(void)
{
    free(slot);
}

/* A sample at cpu_ms of the thread's clock, whose previous one was at previous_ms. */
static struct pp_charge sample(uint64_t previous_ms, uint64_t cpu_ms, uint32_t involuntary, uint64_t counted_ms)
{
    struct pp_record_sample record = {
        .cpu_previous_ns = previous_ms * MS,
        .cpu_ns = cpu_ms * MS,
        .involuntary = involuntary,
        .counted_ns = counted_ms * MS,
    };
    return pp_account_sample(&account, slot, &record, &ticks);
}

TEST(a_sample_weighs_what_was_used)
{
    struct pp_charge charge = sample(0, 10, 0, 0);
    assert_int_equal(charge.sampled_ns, 10 * MS);
    assert_int_equal(charge.unsampled_ns, 0);
    assert_int_equal(account.samples, 1);
    assert_int_equal(account.sampled_ns, 10 * MS);
}

/* Measured: 751 ms of work between the ticks fell on the next function that met one, and f came out as 16 ms; given the
 * bound, a job of 20 ms came out as 60. */
TEST(a_backlog_does_not_fall_on_the_next_sample)
{
    assert_int_equal(sample(0, 34, 0, 0).sampled_ns, 34 * MS);
    struct pp_charge charge = sample(34, 34 + 751, 0, 751);
    assert_int_equal(charge.sampled_ns, 9 * MS);
    assert_int_equal(charge.unsampled_ns, 742 * MS);
    assert_int_equal(account.sampled_ns + account.unsampled_ns, 785 * MS);
}

/* 8 ms behind the timer now and then is chance; always, it is work between the ticks that others are billed for. */
TEST(what_is_late_all_the_time_is_in_step)
{
    uint64_t at_ms = 0;
    for (unsigned i = 0; i < 40; i++, at_ms += 18)
        assert_int_equal(sample(at_ms, at_ms + 18, 0, 0).sampled_ns, 18 * MS);
    for (unsigned i = 0; i < 8; i++, at_ms += 30)
        sample(at_ms, at_ms + 30, 0, 0);
    assert_int_equal(sample(at_ms, at_ms + 18, 0, 0).sampled_ns, 9 * MS);
    assert_int_equal(sample(at_ms + 18, at_ms + 34, 0, 0).sampled_ns, 16 * MS);
    at_ms += 34;
    for (unsigned i = 0; i < 8; i++, at_ms += 12)
        assert_int_equal(sample(at_ms, at_ms + 12, 0, 0).sampled_ns, 12 * MS);
    assert_int_equal(sample(at_ms, at_ms + 18, 0, 0).sampled_ns, 18 * MS);
}

TEST(pushed_off_it_may_be_later_by_a_tick_each_time)
{
    assert_int_equal(sample(0, 200, 42, 200).sampled_ns, 200 * MS);
    assert_int_equal(account.unsampled_ns, 0);
    assert_int_equal(sample(200, 400, 41, 200).sampled_ns, 9 * MS);
    assert_int_equal(account.unsampled_ns, 191 * MS);
    /* so often in ten times that CPU time says little of this sample */
    assert_int_equal(sample(400, 600, 42, 2000).sampled_ns, 9 * MS);
    slot->flush.mean_late_ns = 0;
    assert_int_equal(sample(600, 800, 480, 2000).sampled_ns, 200 * MS);
}

/* Measured: a job of 20 ms beside bursts in step with the ticks, in a crowd, came out as 35. */
TEST(what_went_to_sleep_was_not_pushed_off)
{
    struct pp_record_sample record = {.cpu_ns = 94 * MS, .voluntary = 62, .involuntary = 20, .counted_ns = 94 * MS};
    assert_int_equal(pp_account_sample(&account, slot, &record, &ticks).sampled_ns, 9 * MS);
    slot->flush.mean_late_ns = 0;
    record.cpu_previous_ns = record.cpu_ns;
    record.cpu_ns += 94 * MS;
    record.voluntary = 2;
    assert_int_equal(pp_account_sample(&account, slot, &record, &ticks).sampled_ns, 94 * MS);
}

TEST(an_end_closes_the_thread)
{
    struct pp_record_sample record = {
        .cpu_ns = 20 * MS, .cpu_previous_ns = 8 * MS, .profiler_ns = MS, .lost_ns = 7 * MS, .lost_samples = 2};
    struct pp_charge charge = pp_account_sample(&account, slot, &record, &ticks);
    assert_int_equal(charge.lost_ns, 7 * MS);
    assert_int_equal(charge.lost_samples, 2);
    /* the handler's own time after that sample, a loss, and what was used up to the end */
    atomic_store(&slot->thread.profiler_ns, 2 * MS);
    atomic_store(&slot->thread.lost_ns, 10 * MS);
    atomic_store(&slot->thread.lost_samples, 3);
    atomic_store(&slot->thread.final_cpu_ns, 30 * MS);
    charge = pp_account_end(&account, slot);
    assert_int_equal(charge.lost_ns, 3 * MS);
    assert_int_equal(charge.lost_samples, 1);
    assert_int_equal(charge.unsampled_ns, 30 * MS - 12 * MS - 2 * MS - 10 * MS);
    assert_int_equal(account.sampled_ns + account.unsampled_ns + account.lost_ns + (uint64_t)account.profiler_ns,
                     30 * MS);
    assert_int_equal(account.exited_threads, 1);
    assert_int_equal(account.exited_cpu_ns, 30 * MS);
    assert_int_equal(pp_account_end(&account, slot).unsampled_ns, 0);
}

/* A sample of a thread with two clocks. */
static uint64_t share(uint64_t cpu_ms, uint64_t due_ms)
{
    struct pp_record_sample record = {.cpu_ns = cpu_ms * MS, .due_ns = due_ms * MS};
    return pp_account_sample(&account, slot, &record, &ticks).sampled_ns / MS;
}

TEST(a_sample_of_two_clocks_leaves_the_other_clock_its_part)
{
    /* the thread's own code, after 30 ms of which 20 were in system calls, and then a call */
    assert_int_equal(share(30, 10), 10);
    assert_int_equal(share(31, 14), 14);
    /* no more than there is */
    assert_int_equal(share(40, 20), 16);
    assert_int_equal(slot->flush.accounted_ns, 40 * MS);
    assert_int_equal(account.unsampled_ns, 0);
    /* what no clock has seen is not the next sample's: 64 ms may wait, four times a late sample's 16 */
    assert_int_equal(share(140, 10), 10);
    assert_int_equal(account.unsampled_ns, (140 - 40 - 10 - 64) * MS);
    assert_int_equal(account.sampled_ns, 50 * MS);
}

TEST(what_switches_cost_for_an_event_is_our_own)
{
    struct pp_record_sample record = {.cpu_ns = 10 * MS, .due_ns = 10 * MS, .switches_ns = MS};
    assert_int_equal(pp_account_sample(&account, slot, &record, &ticks).sampled_ns, 9 * MS);
    assert_int_equal(account.profiler_ns, MS);
    assert_int_equal(slot->flush.accounted_ns, 10 * MS);
    /* more than the thread has used is left to the next sample */
    record = (struct pp_record_sample){.cpu_previous_ns = 10 * MS, .cpu_ns = 11 * MS, .switches_ns = 4 * MS};
    assert_int_equal(pp_account_sample(&account, slot, &record, &ticks).sampled_ns, 0);
    assert_int_equal(account.profiler_ns, 2 * MS);
    assert_int_equal(account.sampled_ns + (uint64_t)account.profiler_ns, 11 * MS);
}

TEST(what_ticks_alone_sample_of_threads_that_wait_often_is_summed_apart)
{
    struct pp_record_sample record = {.cpu_ns = 10 * MS, .by_ticks = true, .voluntary = 5, .counted_ns = 10 * MS};
    pp_account_sample(&account, slot, &record, &ticks);
    assert_int_equal(account.uneven_ns, 10 * MS);
    record.by_ticks = false; /* it has an event by now */
    record.cpu_previous_ns = 10 * MS;
    record.cpu_ns = 20 * MS;
    pp_account_sample(&account, slot, &record, &ticks);
    record.by_ticks = true; /* it has not waited */
    record.voluntary = 0;
    record.cpu_previous_ns = 20 * MS;
    record.cpu_ns = 30 * MS;
    pp_account_sample(&account, slot, &record, &ticks);
    assert_int_equal(account.uneven_ns, 10 * MS);
    assert_int_equal(account.sampled_ns, 30 * MS);
}

/* Closes the account as if the threads of the profiler had used profiler_ns, and sets it to what they have used when
 * the clocks were read. */
static uint64_t account_close(uint64_t *profiler_ns, uint64_t waiting_ns)
{
    *profiler_ns -= pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return pp_account_close(&account, profiler_ns, waiting_ns);
}

static void use_cpu(uint64_t ns)
{
    uint64_t start = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start < ns)
        ;
}

/* What no live thread has used is of those that have ended, even if their ends have taken long.
 * This is before all tests that make a thread. */
TEST(long_exits_are_billed_where_all_threads_are_known)
{
    uint64_t own = 0;
    use_cpu(20 * MS);
    assert_int_equal(account_close(&own, 0), 0); /* none has ended */
    account.exited_threads = 3;
    own = 0;
    uint64_t fresh = account_close(&own, 0);
    assert_true(fresh >= 19 * MS);
    assert_int_equal((int64_t)account.cpu_ns, (int64_t)(own + fresh) + account.difference_ns);
    /* a thread that ends in no time has not used what was there before */
    use_cpu(20 * MS);
    own = 0;
    assert_int_equal(account_close(&own, 0), 0);
    /* what could not be written of it has become lost, and is not billed again */
    account.lost_ns += account.thread_exit_ns;
    account.thread_exit_ns = 0;
    account.exited_threads++;
    own = 20 * MS;
    account_close(&own, 0);
    assert_in_range(account.thread_exit_ns, 0, 10 * MS);
}

static void *waits(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* No thread is registered, so the whole clock is a residue. While there is a thread without a slot it may be its. */
TEST(exits_are_billed_up_to_a_bound)
{
    pthread_t other;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    assert_return_code(pthread_create(&other, NULL, waits, &lock), errno);
    use_cpu(MS);
    account.exited_threads = 3;
    uint64_t own = 0;
    uint64_t fresh = account_close(&own, 0);
    assert_true(fresh <= 3 * 20000);
    assert_int_equal(account.thread_exit_ns, fresh);
    assert_int_equal((int64_t)account.cpu_ns, (int64_t)(own + account.thread_exit_ns) + account.difference_ns);
    /* it never goes back, and what waits for a place is pending */
    own = account.cpu_ns;
    account.exited_cpu_ns = 5 * MS;
    assert_int_equal(account_close(&own, 5 * MS), 0);
    assert_int_equal(account.thread_exit_ns, fresh);
    assert_int_equal(account.pending_ns, 5 * MS);
    pthread_mutex_unlock(&lock);
    pthread_join(other, NULL);
}

/* Two threads that have vanished: the clock of the first was read just now, that of the second a while ago. */
TEST(last_parts_are_taken_from_what_is_missing)
{
    static struct pp_slot gone[2];
    uint64_t own = 0;
    memset(gone, 0, sizeof gone);
    account_close(&own, 0);
    for (unsigned i = 0; i < 2; i++) {
        gone[i].index = i;
        atomic_store(&pp_capture.slots[i], &gone[i]);
        atomic_store(&gone[i].state, PP_SLOT_ENDED);
        atomic_store(&gone[i].tid, 1);
        gone[i].flush.ended = PP_ENDED_VANISHED;
        gone[i].flush.clock_at_ns = pp_sys_clock_ns(CLOCK_MONOTONIC) - (i ? MS : 0);
    }
    /* uses at least what the second thread may have used since */
    uint64_t start = pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    while (pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start < 20 * MS)
        ;
    int64_t before = account.difference_ns;
    own = 0;
    account_close(&own, 0);
    memset(pp_capture.slots, 0, sizeof pp_capture.slots);
    uint64_t first = atomic_load(&gone[0].thread.final_cpu_ns), second = atomic_load(&gone[1].thread.final_cpu_ns);
    assert_true(second >= MS && second >= first);
    assert_int_equal(account.pending_ns, first + second);
    assert_int_equal((int64_t)account.cpu_ns, (int64_t)(own + first + second) + account.difference_ns);
    assert_true(account.difference_ns >= before);
    assert_true(gone[0].flush.ended == PP_ENDED_WHOLE && gone[1].flush.ended == PP_ENDED_WHOLE);
}

static volatile sig_atomic_t came;

static void comes_in_between(int number)
{
    (void)number;
    use_cpu(2 * MS);
    came = 1;
}

/* Whatever comes between two clocks of one reading, 2 ms here: they are read again until they belong together. */
TEST(clocks_are_read_together)
{
    timer_t timer;
    signal(SIGALRM, comes_in_between);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    assert_return_code(timer_create(CLOCK_MONOTONIC, &event, &timer), errno);
    unsigned wrong = 0;
    int64_t others = (int64_t)(pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) -
                               pp_process.start.process_cpu_ns);
    for (unsigned i = 0; i < 400; i++) {
        struct itimerspec soon = {.it_value.tv_nsec = 10000 + i * 100};
        came = 0;
        timer_settime(timer, 0, &soon, NULL);
        while (!came) {
            uint64_t own = 0;
            pp_account_close(&account, &own, 0);
            wrong += llabs((int64_t)(account.cpu_ns - own) - others) > MS / 2;
        }
    }
    timer_delete(timer);
    assert_in_range(wrong, 0, 4);
}

/* Those of a crowd that had no sample since are left alone, and what they have used is pending, until it is much. */
TEST(a_crowd_is_not_read_each_time)
{
    enum { CROWD = 300 };
    static struct pp_slot crowd[CROWD];
    memset(crowd, 0, sizeof crowd);
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i].index = i;
        atomic_store(&pp_capture.slots[i], &crowd[i]);
        atomic_store(&crowd[i].state, PP_SLOT_LIVE);
        atomic_store(&crowd[i].tid, pp_sys_gettid());
        crowd[i].flush.before_ns = i ? UINT64_MAX / 2 : 0; /* no clock of theirs counts but the first one's */
        crowd[i].flush.accounted_ns = crowd[i].flush.before_ns;
    }
    uint64_t own = 0, begun_ns = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    account_close(&own, 0);
    if (pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns > MS)
        skip(); /* an emulated processor: to read all clocks takes it as long as they are good for */
    crowd[0].flush.accounted_ns = account.sampled_ns = crowd[0].flush.clock_ns;
    uint64_t first_ns = crowd[0].flush.clock_ns;
    use_cpu(2 * MS);
    own = 0;
    account_close(&own, 0);
    assert_int_equal(crowd[0].flush.clock_ns, first_ns);
    assert_in_range(account.pending_ns, 2 * MS, 9 * MS);
    atomic_store(&crowd[0].thread.cpu_end_ns, first_ns + MS);
    own = 0;
    account_close(&own, 0);
    assert_true(crowd[0].flush.clock_ns >= first_ns + 2 * MS);
    uint64_t second_ns = crowd[0].flush.clock_ns;
    use_cpu(12 * MS);
    own = 0;
    account_close(&own, 0);
    assert_true(crowd[0].flush.clock_ns >= second_ns + 12 * MS);
    memset(pp_capture.slots, 0, sizeof pp_capture.slots);
}
