/* PP_CHECK: what must not be is noticed on the spot in the tests' builds, and costs the product nothing. */
#include "preload/base/lock.h"
#include "preload/capture/slot.h"
#include "unit.h"
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#ifdef __x86_64__
#define FAILED_CHECK SIGILL
#else
#define FAILED_CHECK SIGTRAP
#endif

/* Runs it in a child; returns the signal that ended it, 0 if none did. */
static int signal_of(void (*run)(void))
{
    int status;
    pid_t child = fork();
    if (!child) {
        signal(FAILED_CHECK, SIG_DFL); /* cmocka's handler would go on with the next test */
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        run();
        _exit(0);
    }
    assert_return_code(child, errno);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void true_one(void)
{
    PP_CHECK(getpid() > 0);
}

static void false_one(void)
{
    PP_CHECK(getpid() < 0);
}

static struct pp_slot slot;

static void whole_life(void)
{
    pp_slot_become(&slot, PP_SLOT_CLAIMED);
    pp_slot_become(&slot, PP_SLOT_FREE);
    pp_slot_become(&slot, PP_SLOT_CLAIMED);
    pp_slot_become(&slot, PP_SLOT_LIVE);
    pp_slot_become(&slot, PP_SLOT_ENDED);
    pp_slot_become(&slot, PP_SLOT_FREE);
}

static void comes_alive_unclaimed(void)
{
    pp_slot_become(&slot, PP_SLOT_LIVE);
}

static void is_freed_before_its_end(void)
{
    pp_slot_become(&slot, PP_SLOT_CLAIMED);
    pp_slot_become(&slot, PP_SLOT_LIVE);
    pp_slot_become(&slot, PP_SLOT_FREE);
}

static struct pp_ring *small_ring(void)
{
    static struct pp_ring ring;
    ring.size = 4096;
    ring.buffer = aligned_alloc(4096, ring.size);
    return &ring;
}

static void commits_and_reads(void)
{
    struct pp_ring *ring = small_ring();
    pp_ring_commit(ring, pp_ring_reserve(ring, 64, PP_RECORD_SAMPLE));
    pp_ring_release(ring, pp_ring_peek(ring));
}

static void commits_more_than_fits(void)
{
    struct pp_ring *ring = small_ring();
    struct pp_record *record = pp_ring_reserve(ring, 64, PP_RECORD_SAMPLE);
    record->size = 8192;
    pp_ring_commit(ring, record);
}

static void reads_what_has_no_size(void)
{
    struct pp_ring *ring = small_ring();
    struct pp_record *record = pp_ring_reserve(ring, 64, PP_RECORD_SAMPLE);
    pp_ring_commit(ring, record);
    record->size = 0;
    pp_ring_peek(ring);
}

static void drops_a_lock_that_it_has_not(void)
{
    static struct pp_lock lock;
    pp_lock_release(&lock);
}

TEST(a_false_check_ends_the_process)
{
    assert_int_equal(signal_of(true_one), 0);
    assert_int_equal(signal_of(false_one), FAILED_CHECK);
}

TEST(the_life_of_a_slot_the_ring_and_locks_are_checked)
{
    assert_int_equal(signal_of(whole_life), 0);
    assert_int_equal(signal_of(comes_alive_unclaimed), FAILED_CHECK);
    assert_int_equal(signal_of(is_freed_before_its_end), FAILED_CHECK);
    assert_int_equal(signal_of(commits_and_reads), 0);
    assert_int_equal(signal_of(commits_more_than_fits), FAILED_CHECK);
    assert_int_equal(signal_of(reads_what_has_no_size), FAILED_CHECK);
    assert_int_equal(signal_of(drops_a_lock_that_it_has_not), FAILED_CHECK);
}

/* As the product has it. */
#undef PP_CHECKS
#undef PP_CHECK
#undef PP_BASE_CHECK_H
#include "preload/base/check.h"

TEST(without_checks_nothing_is_evaluated)
{
    volatile unsigned evaluated = 0;
    PP_CHECK(evaluated++ > 1);
    assert_int_equal(evaluated, 0);
}
