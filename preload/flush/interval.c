/* SPDX-License-Identifier: Apache-2.0 */
#include "interval.h"
#include "../account/interval_data.h"
#include "../account/short_threads.h"
#include "../base/libc_kind.h"
#include "../base/loader_lock.h"
#include "../base/mappings.h"
#include "../base/memory_file.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../capture/unwind_table.h"
#include "../common/pseudo_frames.h"
#include "../labels/context_facts.h"
#include "../log/notes.h"
#include "../merge/code_objects.h"
#include "../python/tls.h"
#include "../threads/registry.h"
#include "../threads/scan.h"
#include "../threads/signal.h"
#include "drain.h"
#include "fork_gate.h"
#include "rate.h"
#include "requests.h"
#include "state.h"
#include "traces.h"
#include "watchdog.h"
#include "write_interval.h"
#include <string.h>

#define WORTH_A_FILE_NS 5000000u /* of a process that ends without a sample; a fork and an _exit take less */

void pp_interval_start(void)
{
    bool first = !pp_interval.start_ns;
    pp_rate_start(first);
    if (first) {
        if (pp_memory_file.number >= 0)
            pp_note(0, "process_vm_readv cannot be used here: memory is read by /proc/self/mem, which costs more");
        pp_tables_reset(&pp_interval.tables);
        pp_interval.start_ns = pp_process.start.unix_ns;
        pp_interval.start_monotonic_ns = pp_process.start.monotonic_ns;
    }
}

void pp_interval_drain(bool final)
{
    uint32_t wanted = PP_MODULES_WANTED;
    /* a process of which no sample was taken yet costs nothing */
    if (atomic_load(&pp_module_table) || atomic_load(&pp_capture.modules)) {
        if (!pp_drain_refresh_modules())
            atomic_compare_exchange_strong(&pp_capture.modules, &wanted, PP_MODULES_CHECKED);
    }
    pp_drain(final);
    if (atomic_load(&pp_flush.life) < PP_FLUSH_LEAVES) /* no handler is to read what is found at the end */
        pp_context_facts_refresh(false);
    if (pp_modules_publish())
        pp_drain_modules_changed();
    pp_modules_reclaim(pp_handlers_quiet);
}

void pp_interval_stacks(void)
{
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        uintptr_t sp = atomic_load_explicit(&slot->thread.unknown_stack_sp, memory_order_acquire), start, end;
        if (!sp || atomic_load(&slot->thread.stack_top) || !pp_mapping_around(sp, &start, &end))
            continue;
        /* the kernel merges neighbours: above the stack may be memory that is unmapped one day */
        uintptr_t top = pp_libc_stack_top(pp_pthread_of(slot->thread.thread_pointer), sp, &start);
        atomic_store(&slot->thread.stack_low, start);
        atomic_store(&slot->thread.stack_top, top && top < end ? top : end);
    }
}

/* A process that sleeps leaves the disk alone; so does a process that ends before its first sample, unless it used CPU
 * time itself or counted requests. What our thread used does not count: on a slow machine its start alone takes
 * WORTH_A_FILE_NS. */
static bool worth_writing(uint64_t profiler_threads_ns, enum pp_end_reason end)
{
    bool final = end != PP_END_NOT;
    if (end == PP_END_EXEC && pp_write_has_begun() && !pp_interval.said_exec)
        return true;
    if (pp_requests_waiting())
        return true;
    if (!pp_interval.anything_new)
        return false;
    if (pp_write_has_begun() || pp_interval.account.samples || pp_interval.account.lost_samples)
        return true;
    /* a process that is paused and lives on has a file, to be found; one that was never resumed leaves none */
    return final != (atomic_load(&pp_capture.stopped) != 0) &&
           pp_interval.account.cpu_ns >= profiler_threads_ns + WORTH_A_FILE_NS;
}

/* Returns what our threads have used. */
static uint64_t close_account(void)
{
    uint64_t profiler_threads_ns = pp_interval.earlier_profiler_ns;
    uint64_t exit_ns = pp_account_close(&pp_interval.account, &profiler_threads_ns, pp_short_threads_waiting_ns());
    pp_add_pseudo(&pp_interval.account.thread_exit_ns, 0, PP_PSEUDO_THREAD_EXIT, 0, exit_ns);
    return profiler_threads_ns;
}

static void add_lost(void)
{
    uint64_t unwritten = pp_interval.unwritten_ns;
    pp_interval.unwritten_ns = 0;
    pp_add_pseudo(&pp_interval.account.lost_ns, 0, PP_PSEUDO_LOST, 0, unwritten);
}

static void append(enum pp_end_reason end)
{
    uint64_t profiler_threads_ns = close_account();
    uint64_t now_ns = pp_sys_clock_ns(CLOCK_REALTIME), now_monotonic_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    add_lost();
    pp_modules_close_files(NULL); /* a limit of descriptors may leave none for the profile */
    if (worth_writing(profiler_threads_ns, end)) {
        bool written = pp_write_interval(profiler_threads_ns, now_monotonic_ns, end, false);
        if (!written && end != PP_END_NOT) { /* a full disk has room for a small file that says how much is lost */
            pp_samples_clear();
            add_lost();
            pp_write_interval(profiler_threads_ns, now_monotonic_ns, end, true);
        }
        pp_interval.said_exec = end == PP_END_EXEC;
        pp_interval.start_ns = now_ns;
        pp_interval.start_monotonic_ns = now_monotonic_ns;
        pp_samples_clear();
    }
    atomic_store(&pp_flush.flushed_cpu_ns,
                 pp_write_has_begun() && !pp_interval.said_exec ? 0 : pp_interval.account.cpu_ns);
}

void pp_interval_save(void)
{
    pp_write_check_file();
    pp_interval_drain(false);
    if (pp_account_has_many_threads(&pp_interval.account))
        return; /* the process's clock alone takes the kernel 0.2 us for each */
    if (pp_write_is_full())
        pp_drain_settle(true);
    append(PP_END_NOT);
}

bool pp_interval_is_busy(void)
{
    return pp_interval.account.busy;
}

uint64_t pp_interval_flush(int flush_tid, enum pp_end_reason end)
{
    bool final = end == PP_END_EXIT;
    pp_interval.anything_new |= pp_requests_waiting();
    if (end == PP_END_NOT && !pp_interval.anything_new &&
        pp_account_is_idle(&pp_interval.account, pp_interval.earlier_profiler_ns))
        return false;
    pp_write_check_file();
    /* the start of an interpreter that was loaded with RTLD_DEEPBIND went unseen; at the end it is too late to sample
     * it */
    if (pp_flush_find_pythons && !final && !pp_loader_lock_is_lost()) {
        pp_fork_gate_enter();
        pp_flush_find_pythons();
        pp_fork_gate_leave();
    }
    for (unsigned i = 0; pp_python_at(i); i++)
        pp_python_key_settle(atomic_load(&pp_capture.pythons[i]));
    pp_interval_drain(false);
    atomic_store(&pp_capture.modules, PP_MODULES_KNOWN); /* JITs' code is checked again, once a flush */
    uint64_t again_ns = pp_threads_scan(flush_tid);
    if (final) {
        /* threads that have vanished get their last part and are taken as ended */
        close_account();
        pp_interval_drain(true);
    }
    /* ids of a full segment end with it */
    pp_drain_settle(final || pp_write_is_full());
    /* a signal that the program sends to itself is an end, too: what threads have used is no longer pending then */
    if (end != PP_END_NOT || atomic_load(&pp_capture.stopped))
        pp_drain_rest();
    append(end);
    pp_codes_limit();
    /* should exec fail, the next flush is to say so */
    pp_interval.anything_new |= end == PP_END_EXEC;
    if (!final) {
        pp_interval_review_cost();
        pp_signal_check_action();
        pp_traces_review(pp_sys_clock_ns(CLOCK_MONOTONIC));
        pp_watchdog_check(pp_drain_bound_ns(), pp_interval.account.reasons);
    }
    return again_ns;
}

void pp_interval_review_cost(void)
{
    uint64_t cpu_ns = pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - pp_process.start.process_cpu_ns;
    if (!pp_rate_review(cpu_ns, pp_account_handlers()))
        return;
    pp_interval_drain(false);
    pp_rate_change();
}

void pp_interval_stop(void)
{
    pp_interval.account.profiler_exits++;
    pp_interval.earlier_profiler_ns += pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void pp_interval_after_fork(void)
{
    pp_interval_reset();
    pp_write_after_fork();
    pp_short_threads_reset();
    pp_requests_after_fork();
    pp_codes_reset();
    pp_traces_after_fork();
}
