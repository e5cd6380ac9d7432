/* The flush thread is woken for new code when the sample that met it is in the ring, and takes it in then, not by the
 * next flush. */
#include "preload/base/config.h"
#include "preload/base/proc_file.h"
#include "preload/base/process.h"
#include "preload/capture/capture.h"
#include "preload/capture/slot_memory.h"
#include "preload/flush/interval.h"
#include "preload/flush/lifecycle.h"
#include "preload/flush/loop.h"
#include "preload/flush/state.h"
#include "preload/handler/handler.h"
#include "preload/threads/registry.h"
#include "thread_stack.h"
#include "unit.h"
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>

/* Of a process that is not saved between flushes any more; a machine has been up for longer. */
#define AGE_NS (20 * (uint64_t)1000000000u)
#define TRIES  20

static struct pp_slot *slot;
static _Atomic unsigned flushes; /* counted before they empty the rings */

static void count_flush(void)
{
    atomic_fetch_add(&flushes, 1);
}

void before_all(void)
{
    scratch_make();
    snprintf(pp_config.out, sizeof pp_config.out, "%s/out", scratch_path);
    pp_config.period_ns = 10000000;
    pp_process_begins();
    pp_process.start.monotonic_ns = pp_sys_clock_ns(CLOCK_MONOTONIC) - AGE_NS;
    pp_process.start.unix_ns = pp_sys_clock_ns(CLOCK_REALTIME) - AGE_NS;
    slot = pp_slot_claim();
    assert_true(slot && pp_slot_memory_begin(slot));
    pp_slot_memory_end(slot);
    slot->thread.is_main = true;
    atomic_store(&slot->tid, pp_sys_gettid());
    atomic_store(&slot->state, PP_SLOT_LIVE);
    pp_flush_find_pythons = count_flush;
    pp_flush_thread_start();
    assert_true(pp_flush_thread_runs());
}

void after_all(void)
{
    pp_flush_to_the_end();
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

/* Returns whether the sample was taken in before the next flush: not if that was just due, which another try makes up
 * for. */
static bool sampled_before_the_flush(void)
{
    int tid;
    while ((tid = atomic_load(&pp_flush.tid)) == 0 || !sleeps(tid))
        sched_yield();
    unsigned before = atomic_load(&flushes);
    put_sample();
    atomic_store(&pp_capture.modules, PP_MODULES_WANTED);
    pp_wake_flush(PP_WAKE_MODULES);
    while (pp_ring_used(&slot->ring))
        sched_yield();
    return atomic_load(&flushes) == before;
}

TEST(a_sample_does_not_wait_for_the_flush)
{
    unsigned tries = 1;
    while (!sampled_before_the_flush() && tries < TRIES)
        tries++;
    assert_in_range(tries, 1, TRIES - 1);
}

/* Takes a sample as the handler does, in a copy of this process that another one steps through. */
static void sample_in_steps(void)
{
    ucontext_t context;
    pp_process_after_fork();
    getcontext(&context);
    atomic_store(&slot->thread.stack_top, thread_stack_top());
    atomic_store(&pp_module_table, NULL);
    atomic_store(&pp_capture.modules, PP_MODULES_KNOWN);
    atomic_store(&pp_capture.wake, 0);
    if (!pp_slot_memory_begin(slot) || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(1);
    raise(SIGSTOP);
    pp_take_sample(slot, &context, pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID), 0);
    _exit(0);
}

static void peek(pid_t pid, void *to, const void *from, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
    assert_int_equal(process_vm_readv(pid, &local, 1, &remote, 1, 0), size);
}

TEST(the_sample_is_there_when_the_thread_is_woken)
{
    int status;
    uint32_t wake = 0;
    pid_t child = fork();
    if (child == 0)
        sample_in_steps();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSTOPPED(status));
    struct pp_ring ring;
    peek(child, &ring, &slot->ring, sizeof ring);
    assert_int_equal(pp_ring_used(&ring), 0);
    while (WIFSTOPPED(status) && !wake) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFSTOPPED(status))
            peek(child, &wake, &pp_capture.wake, sizeof wake);
    }
    assert_int_equal(wake, PP_WAKE_MODULES);
    peek(child, &ring, &slot->ring, sizeof ring);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(pp_ring_used(&ring) > sizeof(struct pp_record_sample));
}
