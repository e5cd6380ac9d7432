/* The flush thread: a sample is taken in soon after the wake-up that came before it, not by the next flush. */
#include "preload/base/config.h"
#include "preload/base/proc_file.h"
#include "preload/base/process.h"
#include "preload/capture/capture.h"
#include "preload/capture/slot_memory.h"
#include "preload/flush/interval.h"
#include "preload/flush/lifecycle.h"
#include "preload/flush/loop.h"
#include "preload/threads/registry.h"
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_NS (3600 * (uint64_t)1000000000u)
#define TRIES   20

static char root[64];
static struct pp_slot *slot;
static _Atomic unsigned flushes; /* counted before they empty the rings */

static void count_flush(void)
{
    atomic_fetch_add(&flushes, 1);
}

static int start(void **state)
{
    (void)state;
    strcpy(root, "/tmp/pyprof-unit.XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(pp_config.out, sizeof pp_config.out, "%s/out", root);
    pp_config.period_ns = 10000000;
    pp_process_begins();
    pp_process.start.monotonic_ns = pp_sys_clock_ns(CLOCK_MONOTONIC) - HOUR_NS; /* it is not saved between flushes */
    pp_process.start.unix_ns = pp_sys_clock_ns(CLOCK_REALTIME) - HOUR_NS;
    slot = pp_slot_claim();
    if (!slot || !pp_slot_memory_begin(slot))
        return -1;
    pp_slot_memory_end(slot);
    atomic_store(&slot->tid, pp_sys_gettid());
    atomic_store(&slot->state, PP_SLOT_LIVE);
    pp_flush_find_pythons = count_flush;
    pp_flush_thread_start();
    return pp_flush_thread_runs() ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    char command[128];
    pp_flush_to_the_end();
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static bool sleeps(int tid)
{
    char text[512];
    size_t length = pp_read_task_file(tid, "stat", text, sizeof text - 1);
    text[length] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] && name_end[2] == 'S';
}

static void put_sample(void)
{
    size_t size = sizeof(struct pp_record_sample) + sizeof(uint64_t);
    struct pp_record_sample *sample = pp_ring_reserve(&slot->ring, (uint32_t)size, PP_RECORD_SAMPLE);
    if (!sample)
        abort();
    struct pp_record header = sample->header;
    memset(sample, 0, size);
    sample->header = header;
    sample->native_frames = 1;
    *(uint64_t *)(sample + 1) = (uintptr_t)put_sample;
    pp_ring_commit(&slot->ring, sample);
}

/* As a handler that meets unknown code, and that is still at its sample when the rings have been emptied. Returns
 * whether the sample was taken in before the next flush: not if this thread came too late, which another try makes up
 * for. */
static bool taken_before_the_flush(void)
{
    int tid;
    while ((tid = atomic_load(&pp_flush.tid)) == 0 || !sleeps(tid))
        sched_yield();
    unsigned before = atomic_load(&flushes);
    atomic_store(&pp_capture.modules, PP_MODULES_WANTED);
    pp_wake_flush(PP_WAKE_MODULES);
    while (atomic_load(&pp_capture.modules) == PP_MODULES_WANTED || !sleeps(tid))
        sched_yield();
    put_sample();
    while (pp_ring_used(&slot->ring))
        sched_yield();
    return atomic_load(&flushes) == before;
}

static void a_sample_does_not_wait_for_the_flush(void **state)
{
    (void)state;
    unsigned tries = 1;
    while (!taken_before_the_flush() && tries < TRIES)
        tries++;
    assert_in_range(tries, 1, TRIES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sample_does_not_wait_for_the_flush, start, end),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
