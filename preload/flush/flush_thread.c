#include "../capture/capture.h"
#include "../config.h"
#include "../interpose.h"
#include "../libunwind.h"
#include "../own_descriptors.h"
#include "../park.h"
#include "../say.h"
#include "../start.h"
#include "../syscalls.h"
#include "../thread_scan.h"
#include "../threads.h"
#include "flush.h"
#include "interval.h"
#include "late_signals.h"
#include "modules.h"
#include "sanitizer.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>

#define INTERVAL_NS   1000000000u
#define SAVE_LEAST_NS 125000000u
#define SAVE_SHARE    16
#define LOOK_NS       50000000u   /* until the next look at threads that may be nobody's */
#define EXIT_WAIT_NS  2000000000u /* a process that ends waits at most so long for a slow disk */
/* as long with threads asleep; should one hold what the flush needs, it gets that */
#define PARKED_WAIT_NS 900000000u
#define JOIN_WAIT_NS   1000000000u
#define EXEC_WAIT_NS   500000000u  /* the caller may hold what the flush needs */
#define SLOW_WAIT_NS   5000000000u /* as long as it gets on */
/* A child of fork mostly does nothing else, and its flush thread may wait for a lock that the parent's thread held. */
#define CHILD_EXEC_WAIT_NS 50000000u
#define WORTH_NS           1000000u /* of CPU time that exec is not to lose */
#define STACK_SIZE         (256u << 10)
#define STACK_SIZE_MOST    (64u << 20) /* glibc takes every library's static TLS out of it */
#define NS                 1000000000u

static _Atomic uint32_t running;          /* the thread has been made in this process */
static _Atomic uint32_t stopping;         /* the last flush has been asked for */
static _Atomic uint32_t done;             /* futex: the last flush is over */
static _Atomic uint32_t flushed_for_exec; /* futex: how often */
static bool child_needs_thread;
static pthread_t thread;
static _Atomic int thread_tid;
static _Atomic bool leaving; /* for good, the process goes on */
static _Atomic bool pausing; /* it is to end, the process goes on */
/* The thread stays in the program's table of descriptors: the main thread ends, or this is not the first flush thread
 * of the process. What leaves a table closes its descriptors there, and a message queue takes that for the program's
 * word to end its mq_notify. */
static _Atomic bool shares_descriptors;

static void wait_on(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec timeout = {(time_t)(ns / NS), (long)(ns % NS)};
    pp_syscall4(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, (long)&timeout);
}

/* Does what libc does when the last thread ends; where the main thread left past libc, which then counts one too many,
 * what the kernel does. */
static void end_process(int own_tid)
{
    atomic_store(&stopping, 1);
    pp_interval_flush(own_tid, PP_END_EXIT);
    atomic_store(&done, 1);
    if (!atomic_load(&pp_main_watched))
        exit(0);
    for (;;)
        pp_syscall4(SYS_exit, 0, 0, 0, 0);
}

/* A process that is killed loses what has not been written: of a young one, as the workers of a multiprocessing.Pool, a
 * second would be all. UINT64_MAX: it is old enough. */
static uint64_t next_save(uint64_t now)
{
    uint64_t part = (now - pp_birth.monotonic_ns) / SAVE_SHARE;
    if (part >= INTERVAL_NS)
        return UINT64_MAX;
    return now + (part > SAVE_LEAST_NS ? part : SAVE_LEAST_NS);
}

/* Not within the first second of a process that may be about to give up root (what it makes before is root's), nor
 * where what is open for a write is the program's to meet. */
static uint64_t first_save(uint64_t now)
{
    bool forked = pp_birth.process_cpu_ns == 0;
    bool root = pp_syscall4(SYS_geteuid, 0, 0, 0, 0) == 0;
    return pp_own_descriptors_there() && (forked || !root) ? next_save(now) : now + INTERVAL_NS;
}

/* Behind the main thread it is this one that has to end the process, which writes what is in the buffers of stdio. And
 * libunwind's pipe is looked at by its numbers. */
static bool may_have_own_descriptors(void)
{
    return atomic_load(&pp_main_watched) && !atomic_load(&shares_descriptors) && !pp_config.libunwind;
}

static void *flush_thread(void *argument)
{
    (void)argument;
    pp_sanitizer_clean_stack(STACK_SIZE);
    int own_tid = pp_sys_gettid();
    atomic_store(&thread_tid, own_tid);
    pp_syscall4(SYS_prctl, 15 /* PR_SET_NAME */, (long)"pyprof", 0, 0);
    if (may_have_own_descriptors())
        pp_own_descriptors_begin();
    pp_interval_start(); /* a thread that was stopped in between goes on with its interval */
    uint64_t now = pp_sys_clock_ns(CLOCK_MONOTONIC), next = now + INTERVAL_NS, look = next, save = first_save(now);
    for (;;) {
        now = pp_sys_clock_ns(CLOCK_MONOTONIC);
        uint64_t until = look < next ? look : next;
        until = save < until ? save : until;
        if (now < until && !atomic_load(&pp_capture.wake))
            wait_on(&pp_capture.wake, 0, until - now);
        uint32_t why = atomic_exchange(&pp_capture.wake, 0);
        now = pp_sys_clock_ns(CLOCK_MONOTONIC);
        if (why & PP_WAKE_STOP)
            break;
        if (atomic_load(&pausing)) {
            pp_interval_stop();
            pp_own_descriptors_end();
            return NULL;
        }
        if (pp_threads_all_ended())
            end_process(own_tid);
        if (why & PP_WAKE_MODULES)
            pp_interval_modules();
        if (why & PP_WAKE_STACK)
            pp_interval_stacks();
        if (why & PP_WAKE_COST)
            pp_interval_judge_cost();
        bool again = false;
        if (why & PP_WAKE_EXEC) {
            again = pp_interval_flush(own_tid, PP_END_EXEC);
            atomic_fetch_add(&flushed_for_exec, 1);
            pp_syscall4(SYS_futex, (long)&flushed_for_exec, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
            /* on a full machine the caller has not ended yet: another one now would say that it goes on */
            next = save = pp_sys_clock_ns(CLOCK_MONOTONIC) + INTERVAL_NS;
        }
        if (now >= next) {
            pp_libunwind_look();
            again = pp_interval_flush(own_tid, PP_END_NOT);
            next = now + INTERVAL_NS;
        } else if (now >= save) {
            pp_interval_save();
            if (now >= look)
                again = pp_threads_scan(own_tid);
        } else if (why & PP_WAKE_DRAIN) {
            pp_interval_drain(false);
        } else if (now >= look) {
            again = pp_threads_scan(own_tid);
        }
        if (now >= save)
            save = next_save(now);
        if (now >= look || again)
            look = again ? now + LOOK_NS : next;
    }
    pp_interval_flush(own_tid, PP_END_EXIT);
    atomic_store(&done, 1);
    pp_syscall4(SYS_futex, (long)&done, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
    pp_own_descriptors_end();
    if (atomic_load(&leaving))
        return NULL;
    /* the process is on its way out: a thread that ends now would run its destructors beside the application's */
    for (;;)
        wait_on(&done, 1, (uint64_t)3600 * NS);
    return NULL;
}

static bool process_ends(void)
{
    return atomic_load(&stopping);
}

void pp_flush_thread_start(void)
{
    static const struct pp_gate module_gate = {pp_flush_gate_enter, pp_flush_gate_leave, process_ends};
    const struct pp_real *libc = pp_real();
    sigset_t all, before;
    pthread_attr_t attributes;
    pp_modules_set_gate(&module_gate);
    /* through libc: a raw mask would also hold back the signals by which setuid reaches every thread */
    __builtin_memset(&all, 0xff, sizeof all);
    if (libc->pthread_attr_init(&attributes) != 0)
        return;
    libc->pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_store(&running, 1);
    int error = EINVAL;
    for (size_t size = STACK_SIZE; error == EINVAL && size <= STACK_SIZE_MOST; size *= 2) {
        libc->pthread_attr_setstacksize(&attributes, size);
        error = libc->pthread_create(&thread, &attributes, flush_thread, NULL);
    }
    if (error) {
        atomic_store(&running, 0);
        atomic_store(&pp_capture.enabled, 0);
        pp_say_once(PP_CAUSE_THREAD, "cannot make a thread: this process is not profiled");
    }
    libc->pthread_sigmask(SIG_SETMASK, &before, NULL);
    libc->pthread_attr_destroy(&attributes);
}

void pp_flush_thread_in_child(void)
{
    if (!child_needs_thread)
        return;
    child_needs_thread = false;
    pp_flush_thread_start();
}

bool pp_flush_thread_stop(void)
{
    const struct pp_real *libc = pp_real();
    if (!libc->pthread_join || !pp_flush_thread_runs() || process_ends() || atomic_exchange(&pausing, true))
        return false;
    pp_wake_flush(PP_WAKE_PAUSE);
    libc->pthread_join(thread, NULL);
    /* join returns while the kernel still takes the thread down */
    uint64_t end = pp_sys_clock_ns(CLOCK_MONOTONIC) + JOIN_WAIT_NS;
    while (pp_syscall4(SYS_tgkill, pp_sys_getpid(), atomic_load(&thread_tid), 0, 0) == 0 &&
           pp_sys_clock_ns(CLOCK_MONOTONIC) < end)
        pp_syscall4(SYS_sched_yield, 0, 0, 0, 0);
    atomic_store(&running, 0);
    return true;
}

void pp_flush_thread_resume(void)
{
    atomic_store(&pausing, false);
    atomic_store(&shares_descriptors, true);
    if (!process_ends() && !atomic_load(&leaving))
        pp_flush_thread_start();
}

void pp_flush_thread_outlives_main(void)
{
    atomic_store(&shares_descriptors, true);
    if (pp_flush_thread_stop())
        pp_flush_thread_resume();
}

bool pp_flush_thread_runs(void)
{
    /* another pid: the child of vfork, or of a raw fork, which has none */
    return atomic_load(&running) && pp_sys_getpid() == atomic_load(&pp_capture.pid);
}

static bool wait_until_done(uint64_t ns)
{
    uint64_t end = pp_sys_clock_ns(CLOCK_MONOTONIC) + ns, now;
    while (!atomic_load(&done) && (now = pp_sys_clock_ns(CLOCK_MONOTONIC)) < end)
        wait_on(&done, 0, end - now);
    return atomic_load(&done);
}

void pp_flush_at_exit(void)
{
    if (!pp_flush_thread_runs())
        return;
    struct pp_late_signals signals = pp_late_signals_hold();
    pp_park_python_threads(PP_PARK_EXIT);
    if (!atomic_exchange(&stopping, 1))
        pp_wake_flush(PP_WAKE_STOP);
    if (!wait_until_done(PARKED_WAIT_NS)) {
        pp_park_end();
        wait_until_done(EXIT_WAIT_NS);
    }
    pp_say_rest();
    /* the threads stay asleep: what they would do now is what they must not */
    pp_late_signals_let(&signals);
}

void pp_flush_to_the_end(void)
{
    if (!pp_real()->pthread_join || !pp_flush_thread_runs() || process_ends())
        return;
    atomic_store(&leaving, true);
    atomic_store(&stopping, 1);
    pp_wake_flush(PP_WAKE_STOP);
    pp_real()->pthread_join(thread, NULL);
    atomic_store(&running, 0);
    pp_say_rest();
}

/* Of the flush thread; 0: it has not begun. */
static uint64_t burned_ns(void)
{
    int tid = atomic_load(&thread_tid);
    return tid ? pp_sys_clock_ns(pp_thread_cpu_clock(tid)) : 0;
}

/* The process goes on if what follows does not end it. A thread that gets on, if slowly, on a full machine, is waited
 * for; not one that stands still: it may wait for what the caller holds. */
static void flush_and_go_on(uint64_t most_ns)
{
    uint32_t before = atomic_load(&flushed_for_exec);
    uint64_t start = pp_sys_clock_ns(CLOCK_MONOTONIC), end = start + most_ns / 2, now, burned = UINT64_MAX;
    pp_wake_flush(PP_WAKE_EXEC);
    while (atomic_load(&flushed_for_exec) == before) {
        now = pp_sys_clock_ns(CLOCK_MONOTONIC);
        if (now < end) {
            wait_on(&flushed_for_exec, before, end - now);
            continue;
        }
        uint64_t earlier = burned;
        burned = burned_ns();
        if (burned == earlier || now - start >= SLOW_WAIT_NS)
            return;
        end = now + most_ns / 2;
    }
}

void pp_flush_before_exec(void)
{
    if (!pp_flush_thread_runs() || process_ends() ||
        pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - pp_birth.process_cpu_ns < pp_interval_flushed_cpu_ns() + WORTH_NS)
        return;
    /* in a child of fork the clock began at 0 */
    flush_and_go_on(pp_birth.process_cpu_ns ? EXEC_WAIT_NS : CHILD_EXEC_WAIT_NS);
}

void pp_flush_before_signal(void)
{
    if (pp_flush_thread_runs() && !process_ends())
        flush_and_go_on(EXIT_WAIT_NS);
}

void pp_flush_after_fork(void)
{
    child_needs_thread = atomic_exchange(&running, 0) || atomic_load(&pausing);
    atomic_store(&thread_tid, 0);
    atomic_store(&stopping, 0);
    atomic_store(&done, 0);
    atomic_store(&pausing, false);
    atomic_store(&shares_descriptors, false);
    pp_own_descriptors_end();
    atomic_store(&pp_capture.wake, 0);
    atomic_store(&pp_capture.parking, PP_PARK_NOT);
    atomic_store(&pp_capture.unknown_module, 0);
    pp_interval_after_fork();
}
