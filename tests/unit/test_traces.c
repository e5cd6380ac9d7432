/* The traces that PYPROF_TRACES selects are those of TraceIdRatioBased: its bound is round(rate * 2**64) in Python.
 * With "only" timers are slow while there is no such trace. */
#include "preload/base/config.h"
#include "preload/base/process.h"
#include "preload/base/syscalls.h"
#include "preload/capture/capture.h"
#include "preload/common/settings.h"
#include "preload/flush/not_selected.h"
#include "preload/flush/traces.h"
#include "preload/labels/contexts.h"
#include "preload/threads/registry.h"
#include "preload/threads/timers.h"
#include "unit.h"
#include <signal.h>

#define MS     1000000u
#define SECOND (1000u * (uint64_t)MS)
#define START  (7 * SECOND)

int pyprof_traces_begin(void);
int pyprof_traces_end(void);

static struct pp_slot *slot;

TEST(bounds_are_those_of_python)
{
    static const struct {
        const char *text;
        uint64_t bound;
    } known[] = {
        {"0.01", 0x28f5c28f5c28f60},
        {"0.1", 0x1999999999999a00},
        {"0.5", 0x8000000000000000},
        {"0.3", 0x4ccccccccccccc00},
        {"0.001", 0x4189374bc6a7f0},
        {"0.123456789012345", 0x1f9add3746f62e00},
        {"0.999999999999999", 0xffffffffffffb800},
        {"0.000000000000001", 0x480f},
        {"0.00005", 0x346dc5d638866},
        {".25", 0x4000000000000000},
        {"00.7", 0xb333333333333000},
        {"0.000244140625", 0x10000000000000},
        {"1", 0 /* 2^64 */},
        {"1.0", 0 /* 2^64 */},
        {"0.000000059604645", 0x1000000102f},
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t value;
        assert_null(pp_setting_read(PP_SETTING_TRACES, known[i].text, &value));
        assert_int_equal(pp_traces_highest(value), known[i].bound - 1);
        assert_int_equal(pp_traces_highest(value | PP_TRACES_ONLY), known[i].bound - 1);
    }
}

void before_each(void)
{
    signal(SIGPROF, SIG_IGN);
    atomic_store(&pp_capture.signal, SIGPROF);
    pp_config.period_ns = 10 * MS;
    pp_config.traces_only = true;
    atomic_store(&pp_capture.enabled, 1);
    pp_process_begins();
    pp_interval_reset();
    pp_traces_after_fork();
    slot = pp_slot_claim();
    assert_non_null(slot);
    pp_thread_begin(slot, 0, 0);
    pp_traces_review(START);
}

void after_each(void)
{
    pp_thread_end(slot);
    pp_slot_release(slot);
}

static uint64_t interval_of(const struct pp_slot *of)
{
    struct itimerspec times = {0};
    assert_int_equal(pp_syscall4(SYS_timer_gettime, atomic_load(&of->timer), (long)&times, 0, 0), 0);
    return (uint64_t)times.it_interval.tv_sec * SECOND + (uint64_t)times.it_interval.tv_nsec;
}

static bool is_slow(void)
{
    uint64_t interval_ns = interval_of(slot);
    assert_true(interval_ns <= 11 * MS || interval_ns >= 900 * MS);
    return interval_ns >= 900 * MS;
}

TEST(a_minute_without_a_selected_trace_makes_timers_slow)
{
    assert_false(is_slow());
    pp_traces_review(START + 59 * SECOND);
    assert_false(is_slow());
    pp_traces_review(START + 60 * SECOND);
    assert_true(is_slow());
    struct pp_slot *later = pp_slot_claim();
    atomic_store(&later->tid, pp_sys_gettid());
    assert_int_equal(pp_timer_arm(later, PP_FIRST_TICK), 0);
    assert_true(interval_of(later) >= 900 * MS);
    pp_timer_disarm(later, PP_TIMER_NONE);
    pp_slot_release(later);
}

TEST(a_sample_of_a_selected_trace_makes_them_fast)
{
    pp_traces_review(START + 60 * SECOND);
    atomic_store(&pp_capture.traces_met, 1);
    pp_traces_review(START + 90 * SECOND);
    assert_false(is_slow());
    pp_traces_review(START + 149 * SECOND);
    assert_false(is_slow());
    pp_traces_review(START + 150 * SECOND);
    assert_true(is_slow());
}

TEST(a_trace_that_begins_wakes_the_flush_thread_and_keeps_them_fast_until_it_ends)
{
    pp_traces_review(START + 60 * SECOND);
    atomic_store(&pp_capture.wake, 0);
    assert_int_equal(pyprof_traces_begin(), 0);
    assert_true(atomic_load(&pp_capture.wake) & PP_WAKE_TRACES);
    pp_traces_review(START + 61 * SECOND);
    assert_false(is_slow());
    assert_int_equal(pyprof_traces_begin(), 0);
    assert_int_equal(pyprof_traces_end(), 0);
    pp_traces_review(START + 1000 * SECOND);
    assert_false(is_slow());
    assert_int_equal(pyprof_traces_end(), 0);
    assert_int_equal(pyprof_traces_end(), 0); /* of nothing */
    pp_traces_review(START + 1059 * SECOND);
    assert_false(is_slow());
    pp_traces_review(START + 1060 * SECOND);
    assert_true(is_slow());
    assert_int_equal(pyprof_traces_begin(), 0);
    assert_int_equal(atomic_load(&pp_capture.traces_begun), 1);
}

TEST(without_only_nothing_becomes_slow)
{
    pp_config.traces_only = false;
    pp_traces_review(START + 100 * SECOND);
    assert_false(is_slow());
}

/* What a thread used meanwhile is nothing that its next sample could stand for. */
TEST(the_first_sample_afterwards_stands_for_a_period)
{
    struct pp_record_sample sample = {.cpu_previous_ns = 100 * MS, .cpu_ns = 900 * MS};
    uint64_t accounted_ns = slot->flush.accounted_ns;
    pp_traces_review(START + 60 * SECOND);
    pp_not_selected_before(slot, 1, 10 * MS, &sample);
    assert_int_equal(sample.cpu_previous_ns, 890 * MS);
    assert_int_equal(pp_interval.account.not_selected_ns, 790 * MS);
    assert_int_equal(pp_interval.account.sampled_ns, 790 * MS);
    assert_int_equal(slot->flush.accounted_ns - accounted_ns, 790 * MS);

    pyprof_traces_begin();
    pp_traces_review(START + 61 * SECOND);
    uint64_t end_ns = slot->flush.traces_pause_end_ns;
    sample = (struct pp_record_sample){.cpu_previous_ns = end_ns - 1, .cpu_ns = end_ns + 50 * MS};
    pp_not_selected_before(slot, 1, 10 * MS, &sample);
    assert_int_equal(sample.cpu_previous_ns, end_ns + 40 * MS);
    sample = (struct pp_record_sample){.cpu_previous_ns = end_ns + 50 * MS, .cpu_ns = end_ns + 80 * MS};
    pp_not_selected_before(slot, 1, 10 * MS, &sample);
    assert_int_equal(sample.cpu_previous_ns, end_ns + 50 * MS);
}

/* A process with many threads at a high rate, all of whose traces are selected. */
TEST(a_block_is_bounded)
{
    static struct pp_buffer out, fewer;
    struct pp_record_context span = {.kind = PP_CONTEXT_SPAN, .identity = 0x1122334455667788, .trace_id = {7, 9}};
    struct pp_sample_key key = {1, 100000, 300, PP_STATE_GIL_KNOWN};
    uint32_t sequence = 0;
    pp_contexts_consume(slot, &span);
    pp_traces_add(slot, &key, pp_interval.start_ns + SECOND / 2, 10 * MS);
    pp_traces_write(&fewer, &sequence);
    static const uint8_t ids[] = {0, 0, 0, 0, 0,    0,    0,    9,    0,    0,    0,    0,
                                  0, 0, 0, 7, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
    assert_memory_equal(fewer.data + fewer.length - sizeof ids, ids, sizeof ids);
    for (unsigned i = 0; i < 50000; i++)
        pp_traces_add(slot, &key, pp_interval.start_ns + SECOND / 2, 10 * MS);
    pp_traces_write(&out, &sequence);
    assert_in_range(out.length, 500u << 10, 513u << 10);
    pp_buffer_clear(&pp_interval.trace_records);
    pp_buffer_clear(&out);
    pp_traces_write(&out, &sequence);
    assert_int_equal(out.length, 0);
}
