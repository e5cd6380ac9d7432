/* SPDX-License-Identifier: Apache-2.0 */
/* Begins and ends the flush thread. Nothing here waits for longer than END_NS, but for the kernel to take a thread
 * down, and for a thread that works on: up to SLOW_END_NS, and HARMED_NS where it would harm the program.
 */
#include "lifecycle.h"
#include "../base/libc.h"
#include "../base/libc_kind.h"
#include "../base/lock.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../capture/capture.h"
#include "../modules/loaded_objects.h"
#include "../modules/modules.h"
#include "control.h"
#include "fork_gate.h"
#include "interval.h"
#include "loop.h"
#include "requests.h"
#include "state.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#define END_NS         2000000000u
#define SLOW_END_NS    10000000000u /* where the CPU is slow: beside others on an emulated processor 2 s were too few */
#define SLOW_SHARE     16           /* the thread has had this part of the CPU then, which it has not on a slow disk */
#define HARMED_NS      30000000000u /* an emulated processor needs 4 s for the last flush; others share it */
#define STUCK_NS       500000000u   /* where the process may go on: the caller may hold what the flush needs */
#define WORTH_NS       1000000u     /* of CPU time that exec is not to lose */
#define STACK_SIZE_MAX (64u << 20)  /* glibc takes every library's static TLS out of it */

#define BIT(signal) ((uint64_t)1 << ((signal)-1))
/* Signals that are never held back, as are libc's own: those of a fault of the thread itself. */
#define FAULTS (BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGSEGV) | BIT(SIGSYS))

static pthread_t thread;

static bool process_ends(void)
{
    return atomic_load(&pp_flush.life) >= PP_FLUSH_LEAVES;
}

/* Makes the thread. False: it cannot be made, no samples are taken, and the life is `without`. */
static bool start_thread(uint32_t without)
{
    const struct pp_real *libc = pp_real();
    sigset_t all, before;
    pthread_attr_t attributes;
    pp_loaded_objects_set_gate(pp_fork_gate_enter, pp_fork_gate_leave);
    __builtin_memset(&all, 0xff, sizeof all);
    all.__val[0] = ~pp_libc_kind.own_signals;
    if (libc->pthread_attr_init(&attributes) != 0)
        return true;
    libc->pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_store(&pp_flush.life, PP_FLUSH_RUNS);
    int error = EINVAL;
    /* static TLS lies in the thread's stack: a library may take all of it, or nearly all */
    size_t least = libc->__pthread_get_minstack ? libc->__pthread_get_minstack(&attributes) : 0;
    for (size_t size = PP_FLUSH_STACK_SIZE + least; error == EINVAL && size <= STACK_SIZE_MAX; size *= 2) {
        libc->pthread_attr_setstacksize(&attributes, size);
        error = libc->pthread_create(&thread, &attributes, pp_flush_loop, NULL);
    }
    if (error) {
        atomic_store(&pp_flush.life, without);
        atomic_store(&pp_capture.enabled, 0);
    }
    libc->pthread_sigmask(SIG_SETMASK, &before, NULL);
    libc->pthread_attr_destroy(&attributes);
    return !error;
}

void pp_flush_thread_start(void)
{
    if (!start_thread(PP_FLUSH_NONE))
        pp_warn_once(PP_CAUSE_THREAD, "cannot make a thread: this process is not profiled");
}

/* The kernel makes no thread for a process whose children are to be in another pid namespace. These children can have
 * threads: they still need theirs. */
void pp_flush_thread_in_child(void)
{
    if (pp_flush_change(PP_FLUSH_NEEDED, PP_FLUSH_NONE) && !start_thread(PP_FLUSH_NEEDED))
        pp_warn_once(PP_CAUSE_THREAD, "cannot make a thread: process %u is in no profile from here on",
                     (unsigned)pp_sys_getpid());
}

bool pp_flush_thread_runs(void)
{
    return atomic_load(&pp_flush.life) >= PP_FLUSH_RUNS && pp_process_is_profiled();
}

static uint64_t used_ns(void)
{
    int tid = atomic_load(&pp_flush.tid);
    return tid ? pp_sys_clock_ns(pp_thread_cpu_clock(tid)) : 0;
}

/* Waits until the flush thread has changed the word, for at_most_ns; not when the thread has used nothing for
 * patience_ns. A thread that was waited for in vain and has not moved since has used up that time already. */
static void wait_for_change(_Atomic uint32_t *word, uint32_t value, uint64_t patience_ns, uint64_t at_most_ns)
{
    uint64_t used = used_ns(), now = pp_sys_clock_ns(CLOCK_MONOTONIC);
    uint64_t start = atomic_load(&pp_flush.stuck_at_ns) == used + 1 ? atomic_load(&pp_flush.stuck_since_ns) : now;
    uint64_t moved = start;
    while (atomic_load(word) == value && now - start < at_most_ns && now - moved < patience_ns) {
        uint64_t end = moved + patience_ns < start + at_most_ns ? moved + patience_ns : start + at_most_ns;
        pp_wait_on(word, value, end - now);
        now = pp_sys_clock_ns(CLOCK_MONOTONIC);
        uint64_t earlier = used;
        used = used_ns();
        moved = used != earlier ? now : moved;
    }
    atomic_store(&pp_flush.stuck_since_ns, moved);
    atomic_store(&pp_flush.stuck_at_ns, atomic_load(word) == value ? used + 1 : 0);
}

/* Waits for END_NS, and up to SLOW_END_NS where the thread works on. */
static void wait_for_last(_Atomic uint32_t *word, uint32_t value, uint64_t patience_ns)
{
    uint64_t used = used_ns();
    wait_for_change(word, value, patience_ns, END_NS);
    if (atomic_load(word) == value && used_ns() - used >= END_NS / SLOW_SHARE)
        wait_for_change(word, value, patience_ns, SLOW_END_NS - END_NS);
}

/* join returns while the kernel still takes the thread down. */
static void join(void)
{
    pp_real()->pthread_join(thread, NULL);
    uint64_t end = pp_sys_clock_ns(CLOCK_MONOTONIC) + END_NS;
    while (pp_syscall4(SYS_tgkill, pp_sys_getpid(), atomic_load(&pp_flush.tid), 0, 0) == 0 &&
           pp_sys_clock_ns(CLOCK_MONOTONIC) < end)
        pp_syscall4(SYS_sched_yield, 0, 0, 0, 0);
}

/* Has the thread end. Returns whether it has, and is gone from the process's threads. */
static bool end_thread(uint32_t how, uint32_t ended, uint64_t at_most_ns)
{
    if (!pp_real()->pthread_join || !pp_flush_thread_runs() || !pp_flush_change(PP_FLUSH_RUNS, how))
        return false;
    pp_wake_flush(PP_WAKE_STOP);
    wait_for_change(&pp_flush.life, how, END_NS, at_most_ns);
    /* on a stalled disk it goes on */
    if ((how == PP_FLUSH_PAUSES && pp_flush_change(how, PP_FLUSH_RUNS)) || atomic_load(&pp_flush.life) != ended)
        return false;
    join();
    return true;
}

bool pp_flush_thread_stop(void)
{
    return end_thread(PP_FLUSH_PAUSES, PP_FLUSH_NEEDED, END_NS);
}

/* Our thread has a table of descriptors of its own. It is made again with the program's, which the kernel closes with
 * the last thread that has them: the end of the process may come when only our thread is left. */
void pp_flush_thread_outlives_main(void)
{
    atomic_store(&pp_flush.shares_descriptors, true);
    if (end_thread(PP_FLUSH_PAUSES, PP_FLUSH_NEEDED, HARMED_NS))
        pp_flush_thread_in_child();
}

/* A filter may kill the process for what the thread still does. */
void pp_flush_to_the_end(void)
{
    if (!pp_flush_change(PP_FLUSH_NEEDED, PP_FLUSH_LEFT)) /* it could not be made, and is not made in a child either */
        end_thread(PP_FLUSH_LEAVES, PP_FLUSH_LEFT, HARMED_NS);
    pp_warn_rest();
}

static uint64_t pending_here(void)
{
    uint64_t pending = 0;
    pp_syscall4(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0);
    return pending;
}

/* Returns those of these signals that would end the process. */
static uint64_t deadly(uint64_t signals)
{
    uint64_t found = 0;
    struct sigaction action;
    for (int number = 1; number <= 64; number++)
        if (BIT(number) & signals && pp_real()->sigaction && pp_real()->sigaction(number, NULL, &action) == 0 &&
            action.sa_handler == SIG_DFL)
            found |= BIT(number);
    return found;
}

/* Signals are held back meanwhile. gunicorn sends a worker that leaves already another SIGTERM, which without us comes
 * too late: what has come meanwhile and would only end the process stays held back. */
void pp_flush_at_exit(void)
{
    if (!pp_flush_thread_runs())
        return;
    uint64_t mask = pp_sys_signal_mask(SIG_BLOCK, ~(FAULTS | pp_libc_kind.own_signals)), pending = pending_here();
    if (pp_flush_change(PP_FLUSH_RUNS, PP_FLUSH_STOPS) || pp_flush_change(PP_FLUSH_PAUSES, PP_FLUSH_STOPS))
        pp_wake_flush(PP_WAKE_STOP);
    uint32_t life = atomic_load(&pp_flush.life);
    if (life == PP_FLUSH_STOPS || life == PP_FLUSH_LEAVES)
        wait_for_last(&pp_flush.life, life, END_NS);
    pp_warn_rest();
    if (atomic_load(&pp_flush.life) == PP_FLUSH_STOPS)
        pp_warn_once(PP_CAUSE_END,
                     "process %u ends before the last of its profile is written: the disk is stalled, or the machine "
                     "very slow",
                     (unsigned)pp_sys_getpid());
    pp_sys_signal_mask(SIG_SETMASK, mask | deadly(pending_here() & ~pending));
}

void pp_flush_before_signal(void)
{
    if (!pp_flush_thread_runs() || process_ends())
        return;
    uint32_t before = atomic_load(&pp_flush.answers);
    pp_wake_flush(PP_WAKE_EXEC);
    wait_for_last(&pp_flush.answers, before, STUCK_NS);
}

void pp_flush_before_exec(void)
{
    if (pp_flush_thread_runs() &&
        (pp_requests_waiting() || pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - pp_process.start.process_cpu_ns >=
                                      atomic_load(&pp_flush.flushed_cpu_ns) + WORTH_NS))
        pp_flush_before_signal();
}

void pp_flush_after_fork(void)
{
    uint32_t life = atomic_load(&pp_flush.life);
    pp_flush = (struct pp_flush_thread){.life = life >= PP_FLUSH_NEEDED ? PP_FLUSH_NEEDED : PP_FLUSH_NONE};
    if (life == PP_FLUSH_NEEDED) /* the parent could not make its thread again, and was disabled */
        atomic_store(&pp_capture.enabled, 1);
    atomic_store(&pp_capture.wake, 0);
    atomic_store(&pp_capture.modules, 0);
    pp_interval_after_fork();
    pp_control_after_fork();
}
