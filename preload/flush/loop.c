/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"
#include "../account/short_threads.h"
#include "../base/config.h"
#include "../base/fd_table.h"
#include "../base/lock.h"
#include "../base/memory_file.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/sanitizer.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../labels/context_facts.h"
#include "../libunwind/libunwind.h"
#include "../log/directory.h"
#include "../modules/modules.h"
#include "../threads/handover.h"
#include "../threads/perf_clock.h"
#include "../threads/registry.h"
#include "../threads/scan.h"
#include "../threads/signal.h"
#include "control.h"
#include "drain.h"
#include "interval.h"
#include "rate.h"
#include "state.h"
#include "traces.h"
#include "waiting.h"
#include "watchdog.h"
#include "write_interval.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#define INTERVAL_NS 1000000000u
#define SAVE_MIN_NS 125000000u
/* A young process saves its profile each time that it has become older by this part of its age. Pools end their workers
 * by SIGTERM, so a child of fork that does not handle it has less to lose. */
#define SAVE_SHARE        4
#define SAVE_SHARE_POOLED 16
#define LONG_NS           3600000000000u
/* From a drain to the next for samples that met new code: at a start nearly each sample does, and each of these drains
 * makes another table of all modules. */
#define NEW_CODE_NS 100000000u
/* Idle flushes in a row after which the thread rests: it sleeps until a sample, or anything else, wakes it. */
#define REST_AFTER 10
#define REST_NS    10000000000u /* only a flush notices what bypasses our wrappers: a raw clone or sigaction */

/* Ends the process as libc does when the last thread ends. If the main thread has exited by a raw system call, libc's
 * count is off by one: then the process exits as the kernel would end it. */
static void end_process(int flush_tid)
{
    atomic_store(&pp_flush.life, PP_FLUSH_STOPS);
    pp_interval_flush(flush_tid, PP_END_EXIT);
    atomic_store(&pp_flush.life, PP_FLUSH_DONE);
    if (!atomic_load(&pp_process.main_watched))
        exit(0);
    for (;;)
        pp_syscall4(SYS_exit, 0, 0, 0, 0);
}

static bool is_forked(void)
{
    return pp_process.start.process_cpu_ns == 0;
}

static bool handles_sigterm(void)
{
    uint64_t action[4] = {0}; /* the kernel's: the handler comes first */
    pp_syscall4(SYS_rt_sigaction, SIGTERM, 0, (long)action, 8);
    return action[0] != (uint64_t)(uintptr_t)SIG_DFL;
}

/* A process that is killed loses what has not been written: of a young one a second would be all. UINT64_MAX: it is old
 * enough. */
static uint64_t next_save(uint64_t now)
{
    bool pooled = is_forked() && !handles_sigterm();
    uint64_t part = (now - pp_process.start.monotonic_ns) / (pooled ? SAVE_SHARE_POOLED : SAVE_SHARE);
    if (part >= INTERVAL_NS)
        return UINT64_MAX;
    return now + (part > SAVE_MIN_NS ? part : SAVE_MIN_NS);
}

static bool has_directory(void)
{
    struct stat status; /* mostly there is none, which takes one system call to know and not four for each name */
    if (pp_sys_stat(pp_config.out, &status, 0) != 0)
        return false;
    int directory = pp_directory_open(pp_config.out, false);
    if (directory >= 0)
        pp_syscall4(SYS_close, directory, 0, 0, 0);
    return directory >= 0;
}

/* In its first second a process that may be about to give up root, as a server that begins, does not make the
 * directory, which would be root's. Processes that it has started do not wait, as they may be killed at any time: the
 * server itself writes there, too. Nor does a process write while the program can meet the descriptor that is open for
 * that. */
static bool may_save(uint64_t now)
{
    bool early = now < pp_process.start.monotonic_ns + INTERVAL_NS;
    bool root = pp_syscall4(SYS_geteuid, 0, 0, 0, 0) == 0;
    return !early || (pp_fd_table_here() &&
                      (is_forked() || pp_config.descends || !root || pp_write_has_begun() || has_directory()));
}

/* After the main thread has ended, the flush thread ends the process, which writes what is in the buffers of stdio. And
 * libunwind's pipe is known by its descriptors' numbers. */
static bool may_have_own_descriptors(void)
{
    return atomic_load(&pp_process.main_watched) && !atomic_load(&pp_flush.shares_descriptors) && !pp_config.libunwind;
}

/* Whether nothing is left that only the next flushes would find out: a thread without a timer has no samples. */
static bool may_rest(void)
{
    for (const struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        uint32_t state = atomic_load(&slot->state);
        if (state == PP_SLOT_ENDED || (state == PP_SLOT_LIVE && atomic_load(&slot->timer) < 0))
            return false;
    }
    return atomic_load(&pp_process.main_watched) && !pp_short_threads_waiting_ns();
}

/* Returns the number of idle flushes in a row, this one included. While the thread rests, and in the last second before
 * that, each sample wakes it: none is overlooked in between. */
static unsigned count_idle(unsigned idle, bool scans_again)
{
    if (pp_interval_is_busy() || scans_again || !may_rest())
        idle = 0;
    else if (idle < REST_AFTER)
        idle++;
    pp_rate_wake_by_samples(idle >= REST_AFTER - 1);
    return idle;
}

static bool is_paused(void)
{
    return atomic_load(&pp_capture.stopped);
}

static void warn_of_memory(void)
{
    if (!atomic_load(&pp_memory_file.missed))
        return;
    if (pp_memory_file.number < 0)
        pp_warn_once(PP_CAUSE_SAFE_COPY,
                     "process %u can use neither process_vm_readv nor /proc/self/mem: native frames only",
                     (unsigned)pp_sys_getpid());
    else
        pp_warn_once(PP_CAUSE_SAFE_COPY,
                     "process %u has closed descriptor %u, by which its memory was read: native frames only",
                     (unsigned)pp_sys_getpid(), (unsigned)pp_memory_file.number);
}

/* Does the last flush of the process, or of the thread. */
static void finish(int flush_tid)
{
    warn_of_memory();
    pp_interval_flush(flush_tid, PP_END_EXIT);
    bool leaves = pp_flush_change(PP_FLUSH_LEAVES, PP_FLUSH_LEFT);
    if (!leaves)
        atomic_store(&pp_flush.life, PP_FLUSH_DONE);
    pp_wake_all(&pp_flush.life);
    /* a thread that ends on the way out of the process would run its destructors beside the application's */
    while (!leaves)
        pp_wait_on(&pp_flush.life, PP_FLUSH_DONE, LONG_NS);
}

void *pp_flush_loop(void *argument)
{
    (void)argument;
    pp_sanitizer_clean_stack(PP_FLUSH_STACK_SIZE);
    int flush_tid = pp_sys_gettid();
    atomic_store(&pp_flush.tid, flush_tid);
    pp_syscall4(SYS_prctl, 15 /* PR_SET_NAME */, (long)"pyprof", 0, 0);
    if (may_have_own_descriptors())
        pp_fd_table_begin();
    pp_events_begin();
    pp_interval_start(); /* a thread that was stopped in between goes on with its interval */
    uint64_t now = pp_sys_clock_ns(CLOCK_MONOTONIC), next = now + (is_paused() ? REST_NS : INTERVAL_NS);
    uint64_t scan = next, save = next_save(now);
    uint64_t watch = atomic_load(&pp_capture.native_threads) ? now : UINT64_MAX; /* as the thread that was stopped */
    uint64_t young = UINT64_MAX, control = now, new_code = UINT64_MAX, drained = 0;
    unsigned idle = 0;
    bool sleeps = false; /* a young process: nothing is to be saved until a sample wakes the thread */
    for (;;) {
        now = pp_sys_clock_ns(CLOCK_MONOTONIC);
        uint64_t until = scan < next ? scan : next;
        until = save < until ? save : until;
        until = watch < until ? watch : until;
        until = young < until ? young : until;
        until = control < until ? control : until;
        until = new_code < until ? new_code : until;
        /* while the thread sleeps, it may be stopped, and the next has another table of descriptors, or the program's
         */
        pp_modules_close_files(NULL);
        if (now < until && !atomic_load(&pp_capture.wake))
            pp_wait_on(&pp_capture.wake, 0, until - now);
        uint32_t why = atomic_exchange(&pp_capture.wake, 0);
        now = pp_sys_clock_ns(CLOCK_MONOTONIC);
        if (atomic_load(&pp_flush.life) >= PP_FLUSH_LEAVES)
            break;
        if (pp_flush_change(PP_FLUSH_PAUSES, PP_FLUSH_NEEDED)) {
            pp_events_forget();
            pp_wake_all(&pp_flush.life);
            pp_interval_stop();
            return NULL;
        }
        if (pp_threads_all_ended())
            end_process(flush_tid);
        if (why && idle) {
            pp_rate_wake_by_samples(false);
            if (idle == REST_AFTER) {
                next = scan = save = now + INTERVAL_NS;
                control = now;
            }
            idle = 0;
        }
        if (why && sleeps) {
            pp_rate_wake_by_samples(false);
            sleeps = false;
            save = next_save(now);
        }
        if (now >= control || now >= next) {
            bool changed, was_paused = is_paused();
            control = pp_control_poll(now, &changed);
            if (changed)
                next = now;
            if (is_paused())
                scan = save = UINT64_MAX; /* nothing comes between two flushes */
            else if (was_paused)
                scan = save = now + INTERVAL_NS;
        }
        /* names are read from files: see may_save */
        bool early = !pp_fd_table_here() && now < pp_process.start.monotonic_ns + INTERVAL_NS;
        if (early) {
            why &= ~(uint32_t)(PP_WAKE_MODULES | PP_WAKE_DRAIN);
            new_code = UINT64_MAX; /* the table may have been lost since it was set */
        }
        if (why & PP_WAKE_WAITING || now >= watch)
            watch = early ? next : pp_waiting_poll(now);
        if (why & PP_WAKE_TRACES)
            pp_traces_review(now);
        /* its stack is finished while the program goes on, not when it ends, and the next samples find the rows */
        if (why & PP_WAKE_MODULES)
            new_code = drained + NEW_CODE_NS;
        if (why & PP_WAKE_CONTEXTS)
            pp_context_facts_refresh(true);
        if (why & PP_WAKE_EVENT || now >= young)
            young = pp_events_answer(now);
        if (why & PP_WAKE_EVENT)
            pp_handover_answer();
        if (why & PP_WAKE_SIGNAL)
            pp_signal_give_away_sigurg();
        if (why & PP_WAKE_STACK)
            pp_interval_stacks();
        if (why & PP_WAKE_COST)
            pp_interval_review_cost();
        uint64_t again_ns = 0;
        if (why & PP_WAKE_EXEC) {
            again_ns = pp_interval_flush(flush_tid, PP_END_EXEC);
            atomic_fetch_add(&pp_flush.answers, 1);
            pp_wake_all(&pp_flush.answers);
            /* on a full machine the caller has not ended yet: another flush now would say that it goes on */
            next = save = pp_sys_clock_ns(CLOCK_MONOTONIC) + INTERVAL_NS;
        }
        bool saves = now >= save && may_save(now);
        if (saves && now + SAVE_MIN_NS > next)
            next = now; /* to a flush that follows a save at once the process seems idle */
        bool drains = saves || now >= next || now >= new_code || why & PP_WAKE_DRAIN;
        if (now >= next) {
            pp_libunwind_poll();
            warn_of_memory();
            again_ns = pp_interval_flush(flush_tid, PP_END_NOT);
            pp_modules_rest();
            idle = count_idle(idle, again_ns);
            next = now + (idle < REST_AFTER && !is_paused() ? INTERVAL_NS : REST_NS);
        } else {
            if (saves)
                pp_interval_save();
            else if (drains)
                pp_interval_drain(false);
            else if (now >= save)
                pp_context_facts_refresh(false); /* a short program would end before the first flush finds its labels */
            if (now >= scan)
                again_ns = pp_threads_scan(flush_tid);
        }
        if (drains) {
            new_code = UINT64_MAX;
            drained = now;
        }
        if (now >= save) {
            pp_watchdog_check_young(pp_drain_bound_ns());
            save = next_save(now);
            sleeps = saves && save != UINT64_MAX && !pp_interval_is_busy();
            if (sleeps) {
                pp_rate_wake_by_samples(true);
                save = next;
            }
        }
        if (!is_paused() && (now >= scan || again_ns))
            scan = again_ns && pp_interval_is_busy() && now + again_ns < next ? now + again_ns : next;
    }
    finish(flush_tid);
    return NULL;
}
