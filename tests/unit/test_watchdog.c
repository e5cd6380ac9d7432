/* Timers that do not fire give way to ones that do; those of threads that end do not outlive them. */
#include "preload/base/config.h"
#include "preload/base/process.h"
#include "preload/base/syscalls.h"
#include "preload/capture/capture.h"
#include "preload/flush/watchdog.h"
#include "preload/threads/reasons.h"
#include "preload/threads/registry.h"
#include "unit.h"
#include <signal.h>
#include <sys/resource.h>

#define MS         1000000u
#define OVERDUE_NS (20 * MS)

static struct pp_slot *slot;
static uint64_t reasons[PP_REASON_COUNT];
static volatile sig_atomic_t ticks;

static void tick(int signal)
{
    (void)signal;
    ticks++;
}

static void burn(unsigned ms)
{
    uint64_t start = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start < (uint64_t)ms * MS)
        ;
}

/* What pp_account_close notes of each thread, then the check. */
static void check(void)
{
    slot->flush.clock_ns = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pp_watchdog_check(OVERDUE_NS, reasons);
}

void before_each(void)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    atomic_store(&pp_capture.signal, SIGPROF);
    pp_config.period_ns = 5 * MS;
    atomic_store(&pp_capture.enabled, 1);
    pp_process_begins();
    memset(reasons, 0, sizeof reasons);
    atomic_store(&pp_thread_reasons[PP_REASON_UNREACHABLE], 0);
    slot = pp_slot_claim();
    assert_non_null(slot);
    pp_thread_begin(slot, 0, 0);
    slot->flush.watched_ns = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void after_each(void)
{
    pp_thread_end(slot);
    pp_slot_release(slot);
}

/* On a busy machine the turns of this thread may end before a tick of the kernel many times in a row. */
static bool fires(void)
{
    ticks = 0;
    for (unsigned i = 0; i < 20 && !ticks; i++)
        burn(50);
    return ticks > 0;
}

static bool is_silent(void)
{
    ticks = 0;
    burn(60);
    return ticks == 0;
}

TEST(a_timer_that_fires_is_left_alone)
{
    int id = atomic_load(&slot->timer);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(fires());
        atomic_store(&slot->thread.cpu_end_ns, pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID));
        check();
    }
    assert_int_equal(atomic_load(&slot->timer), id);
}

TEST(a_timer_that_was_deleted_is_made_again)
{
    pp_syscall4(SYS_timer_delete, atomic_load(&slot->timer), 0, 0, 0);
    assert_true(is_silent());
    check();
    assert_int_equal(reasons[PP_REASON_TIMER_GONE], 1);
    assert_true(fires());
}

TEST(a_timer_that_was_stopped_is_made_again)
{
    struct itimerspec never = {0};
    pp_syscall4(SYS_timer_settime, atomic_load(&slot->timer), 0, (long)&never, 0);
    assert_true(is_silent());
    check();
    assert_int_equal(reasons[PP_REASON_TIMER_GONE], 0);
    assert_true(fires());
}

TEST(a_timer_that_could_not_be_made_is_tried_again)
{
    pp_timer_disarm(slot, PP_TIMER_NONE);
    struct rlimit before, none;
    getrlimit(RLIMIT_SIGPENDING, &before);
    none = (struct rlimit){0, before.rlim_max};
    setrlimit(RLIMIT_SIGPENDING, &none);
    burn(1);
    check();
    setrlimit(RLIMIT_SIGPENDING, &before);
    assert_int_equal(atomic_load(&slot->timer), PP_TIMER_NONE);
    burn(1);
    check();
    assert_true(atomic_load(&slot->timer) >= 0);
    assert_true(fires());
}

TEST(a_thread_that_blocks_the_signal_is_named_once)
{
    uint64_t mask = pp_sys_signal_mask(SIG_BLOCK, (uint64_t)1 << (SIGPROF - 1));
    for (unsigned i = 0; i < 4; i++) {
        assert_true(is_silent());
        check();
    }
    assert_int_equal(atomic_load(&pp_thread_reasons[PP_REASON_UNREACHABLE]), 1);
    pp_sys_signal_mask(SIG_SETMASK, mask);
}

TEST(a_thread_that_is_in_our_handler_is_not_said_to_block_the_signal)
{
    uint64_t mask = pp_sys_signal_mask(SIG_BLOCK, (uint64_t)1 << (SIGPROF - 1));
    for (unsigned i = 0; i < 6; i++) {
        atomic_store(&slot->in_handler, i < 3);
        assert_true(is_silent());
        check();
        assert_int_equal(atomic_load(&pp_thread_reasons[PP_REASON_UNREACHABLE]), i >= 3);
    }
    pp_sys_signal_mask(SIG_SETMASK, mask);
}

TEST(another_period_is_followed)
{
    struct itimerspec times;
    pp_timers_set_period_ns(500 * MS);
    atomic_store(&slot->thread.cpu_end_ns, pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID));
    check();
    pp_syscall4(SYS_timer_gettime, atomic_load(&slot->timer), (long)&times, 0, 0);
    pp_timers_set_period_ns(0);
    assert_true(times.it_interval.tv_nsec > (long)(400 * MS));
    check();
    pp_syscall4(SYS_timer_gettime, atomic_load(&slot->timer), (long)&times, 0, 0);
    assert_true(times.it_interval.tv_nsec < (long)(6 * MS));
}

TEST(a_timer_that_has_fired_gets_another_interval)
{
    enum { ROUNDS = 100 };
    struct itimerspec times, before = {0};
    unsigned others = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        sig_atomic_t fired = ticks;
        pp_syscall4(SYS_timer_gettime, atomic_load(&slot->timer), (long)&before, 0, 0);
        atomic_store(&slot->thread.cpu_end_ns, pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID));
        check();
        pp_syscall4(SYS_timer_gettime, atomic_load(&slot->timer), (long)&times, 0, 0);
        long off = labs(times.it_interval.tv_nsec - (long)(5 * MS));
        assert_in_range(off, MS / 4, MS / 2);
        others += times.it_interval.tv_nsec != before.it_interval.tv_nsec;
        /* no sample is put off */
        assert_true(times.it_value.tv_nsec <= before.it_value.tv_nsec || ticks != fired);
    }
    assert_in_range(others, ROUNDS / 2, ROUNDS);
    check();
    pp_syscall4(SYS_timer_gettime, atomic_load(&slot->timer), (long)&before, 0, 0);
    assert_int_equal(before.it_interval.tv_nsec, times.it_interval.tv_nsec);
}

/* As when the flush thread renews while the thread reports its end. */
TEST(a_thread_that_ends_keeps_no_timer)
{
    pp_timer_disarm(slot, PP_TIMER_ENDED);
    assert_int_equal(pp_timer_arm(slot, PP_FIRST_RANDOM), 0);
    assert_int_equal(pp_timer_renew(slot), 0);
    assert_int_equal(atomic_load(&slot->timer), PP_TIMER_ENDED);
    assert_true(is_silent());
}

static uint64_t queued_by_user(void)
{
    char line[256];
    uint64_t used = 0;
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "SigQ:", 5) == 0)
            used = strtoull(line + 5, NULL, 10);
    fclose(file);
    return used;
}

TEST(half_of_the_limit_is_the_programs)
{
    enum { MAX = 16 };
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &before), 0);
    limit = (struct rlimit){2 * (queued_by_user() + MAX), before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &limit), 0);
    static struct pp_slot slots[4096];
    unsigned armed = 0;
    for (; armed < 4096; armed++) {
        atomic_store(&slots[armed].tid, pp_sys_gettid());
        atomic_store(&slots[armed].timer, PP_TIMER_NONE);
        if (pp_timer_arm(&slots[armed], PP_FIRST_RANDOM) != 0)
            break;
    }
    for (unsigned i = 0; i < armed; i++)
        pp_timer_disarm(&slots[i], PP_TIMER_NONE);
    assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &before), 0);
    assert_in_range(armed, 1, limit.rlim_cur / 2 - 1); /* there is the timer of this thread */
}

/* As when a thread is LIVE, and pushed off before it has made its timer: the watchdog makes one, then the thread does.
 */
TEST(of_two_timers_one_stays)
{
    int id = atomic_load(&slot->timer);
    assert_true(id >= 0);
    assert_int_equal(pp_timer_arm(slot, PP_FIRST_TICK), 0);
    assert_int_equal(atomic_load(&slot->timer), id);
    pp_timer_disarm(slot, PP_TIMER_NONE);
    assert_true(is_silent());
}
