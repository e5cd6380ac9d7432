/* SPDX-License-Identifier: Apache-2.0 */
/* Finds threads that were not registered, and those that are gone without a word. The kernel's count of threads says
 * whether there are any; /proc/self/task names them. Ends that threads report are in registry.c; account.c takes a
 * thread whose clock cannot be read as gone.
 *
 * A thread without a slot is a suspect at first: a thread that is being made through us exists before it has written
 * its tid into its slot, and may wait for its first turn on a CPU for seconds. It uses next to no CPU before, so a
 * suspect is adopted when it has used SUSPECT_CPU_NS and has still no slot at the next scan. A thread that has reported
 * its end keeps its slot for as long as the kernel has it. */
#include "scan.h"
#include "../base/libc_kind.h"
#include "../base/memory_file.h"
#include "../base/proc_file.h"
#include "../base/process.h"
#include "../base/sort.h"
#include "../base/syscalls.h"
#include "registry.h"
#include "timers.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#define MAX_SUSPECTS 256
#define FRESH_NS     900000000u /* so long the scan comes more often for a suspect */
#define OFTEN_NS     50000000u  /* between two of these */
/* A program that has made threads by raw system calls before (a library's allocator that has some of its own) is
 * scanned again after this part of the time in which no thread has come or gone, at most once a second. At 20 scans a
 * second these took a tenth of what profiling cost polars. */
#define QUIET_SHARE    4
#define SELDOM_NS      1000000000u
#define SUSPECT_CPU_NS 2000000u

static struct suspect {
    int tid;
    uint64_t since_ns;
} suspects[MAX_SUSPECTS];
static unsigned suspect_count;
/* The program makes threads past pthread_create and clone. The count stays when one ends as another begins. */
static bool unregistered;
static uint64_t changed_ns; /* CLOCK_MONOTONIC when one of these was found, or gone */
/* Threads have ended without a report: until their slots end they hide as many threads that bypassed our wrappers. */
static bool unreported;

struct scan {
    int flush_tid;
    unsigned next_count;
    struct suspect next[MAX_SUSPECTS];
};

/* The tids of threads that have a slot, by hash: 0 is a free place. Only as many places are used as these need. */
static int known_tids[2 * PP_MAX_THREADS];
static unsigned known_mask;

/* Where the tid is, else the place for it. */
static int *known_place(int tid)
{
    unsigned at = (unsigned)tid & known_mask;
    while (known_tids[at] && known_tids[at] != tid)
        at = (at + 1) & known_mask;
    return &known_tids[at];
}

void pp_threads_learn_descriptor(void)
{
    if (*(const int *)((uintptr_t)pthread_self() + pp_libc_kind.tid) == pp_sys_gettid())
        atomic_store(&pp_capture.descriptor_tid_offset, pp_libc_kind.tid);
}

/* A thread that was not made through us. Its thread pointer is read by its own first signal (handler/sample.c). */
static void adopt(int tid, uint64_t before_ns)
{
    struct pp_slot *slot = pp_slot_claim();
    if (!slot)
        return;
    pp_slot_begin_at(slot, before_ns);
    slot->flush.clock_ns = pp_sys_clock_ns(pp_thread_cpu_clock(tid));
    slot->flush.clock_at_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    atomic_store(&slot->tid, tid);
    slot->thread.is_main = tid == pp_sys_getpid();
    if (slot->thread.is_main) {
        atomic_store(&slot->thread.stack_low, pp_process.main_stack_low);
        atomic_store(&slot->thread.stack_top, pp_process.main_stack_top);
    }
    slot->thread.scanned = true;
    pp_thread_arm(slot, PP_FIRST_RANDOM);
}

void pp_thread_vanished(struct pp_slot *slot)
{
    if (atomic_load(&slot->state) != PP_SLOT_LIVE)
        return; /* it has reported its end meanwhile */
    pp_timer_disarm(slot, PP_TIMER_ENDED);
    /* its clock is gone with it: the later of what its last handler and the last flush saw is what we know */
    uint64_t seen = atomic_load(&slot->thread.cpu_end_ns);
    atomic_store(&slot->thread.final_cpu_ns, slot->flush.clock_ns > seen ? slot->flush.clock_ns : seen);
    slot->flush.ended = PP_ENDED_VANISHED;
    unreported |= !slot->thread.scanned;
    if (slot->thread.scanned)
        changed_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    pp_slot_become(slot, PP_SLOT_ENDED);
}

static bool task_exists(int tid)
{
    return pp_syscall4(SYS_tgkill, pp_sys_getpid(), tid, 0, 0) == 0;
}

bool pp_threads_all_ended(void)
{
    /* the zombie of the main thread, and ours */
    return atomic_load(&pp_process.main_ended) && pp_kernel_thread_count() == 2;
}

static bool has_slot(int tid, bool or_ended)
{
    for (const struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        uint32_t state = atomic_load(&slot->tid) == tid ? atomic_load(&slot->state) : PP_SLOT_FREE;
        if (state == PP_SLOT_LIVE || (or_ended && state == PP_SLOT_ENDED))
            return true;
    }
    return false;
}

bool pp_thread_lingers(const struct pp_slot *slot)
{
    int tid = atomic_load(&slot->tid);
    /* the zombie of the main thread uses no more CPU; a live slot says that the tid is another thread's by now */
    return !slot->thread.is_main && task_exists(tid) && !has_slot(tid, false);
}

/* Whether the slot's thread is among the kernel's. */
static bool is_counted(const struct pp_slot *slot)
{
    uint32_t state = atomic_load(&slot->state);
    return (state == PP_SLOT_LIVE || (state == PP_SLOT_ENDED && slot->flush.ended == PP_ENDED_LINGERS)) &&
           atomic_load(&slot->tid);
}

static unsigned count_known(void)
{
    unsigned count = 0;
    for (const struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        count += is_counted(slot);
    return count;
}

/* Returns how many threads the kernel has if it has those that are known, ours and the zombie of the main thread. */
static unsigned count_all(void)
{
    return count_known() + 1 + atomic_load(&pp_process.main_ended);
}

/* ended: also the slots of threads that have ended, which the kernel may still have. */
static void note_known(bool ended)
{
    const struct pp_slot *slot;
    uint32_t slots = 0;
    while (pp_slot_at(slots))
        slots++;
    unsigned places = 2;
    while (places < 2 * slots)
        places *= 2;
    memset(known_tids, 0, places * sizeof *known_tids);
    known_mask = places - 1;
    for (uint32_t i = 0; i < slots; i++)
        if (is_counted(slot = pp_slot_at(i)) || (ended && atomic_load(&slot->state) == PP_SLOT_ENDED))
            *known_place(atomic_load(&slot->tid)) = atomic_load(&slot->tid);
}

/* scanned: only threads that were found by a scan, which do not report their end. */
static void end_gone(bool scanned)
{
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (atomic_load(&slot->state) == PP_SLOT_LIVE && (!scanned || slot->thread.scanned) &&
            !task_exists(atomic_load(&slot->tid)))
            pp_thread_vanished(slot);
}

/* Calls visit for every entry of /proc/self/task. */
static void each_task(void (*visit)(const char *name, void *argument), void *argument)
{
    int directory = pp_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (directory < 0)
        return;
    pp_each_entry(directory, UINT_MAX, visit, argument);
    pp_sys_close(directory);
}

/* Returns 0 for the names that are no thread's. */
static int tid_of(const char *name)
{
    int tid = 0;
    for (; *name >= '0' && *name <= '9'; name++)
        tid = tid * 10 + (*name - '0');
    return tid;
}

/* Returns whether the thread was a suspect already. */
static bool note_suspect(struct scan *scan, int tid)
{
    struct suspect noted = {tid, pp_sys_clock_ns(CLOCK_MONOTONIC)};
    bool seen = false;
    for (unsigned i = 0; i < suspect_count && !seen; i++)
        if ((seen = suspects[i].tid == tid))
            noted = suspects[i];
    if (scan->next_count < MAX_SUSPECTS)
        scan->next[scan->next_count++] = noted;
    return seen;
}

/* Whether note_known() has not noted the thread, and it is neither the one to skip nor the zombie of the main thread.
 */
static bool is_unknown(int tid, int skipped_tid)
{
    return tid && tid != skipped_tid && !*known_place(tid) &&
           !(atomic_load(&pp_process.main_ended) && tid == pp_sys_getpid());
}

static void inspect(const char *name, void *argument)
{
    struct scan *scan = argument;
    int tid = tid_of(name);
    if (!is_unknown(tid, scan->flush_tid) || !note_suspect(scan, tid) ||
        pp_sys_clock_ns(pp_thread_cpu_clock(tid)) < SUSPECT_CPU_NS || has_slot(tid, true))
        return;
    adopt(tid, 0);
    unregistered = true;
    changed_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
}

/* A main thread that was there before us, or leaves past libc, does not report its end. A zombie has no memory that
 * could be copied, and for signal 0 it is still there. */
static void check_main(void)
{
    int pid = pp_sys_getpid(), copy;
    struct iovec local = {&copy, sizeof copy}, remote = {&pid, sizeof pid};
    if (atomic_load(&pp_process.main_ended) || pp_memory_file.used ||
        pp_syscall6(SYS_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0) != -ESRCH)
        return;
    struct pp_slot *slot = pp_slot_of(pid);
    if (slot)
        pp_thread_vanished(slot);
    atomic_store(&pp_process.main_ended, true);
}

uint64_t pp_scan_pause_ns(uint64_t quiet_ns)
{
    uint64_t pause_ns = quiet_ns / QUIET_SHARE;
    return pause_ns < OFTEN_NS ? OFTEN_NS : pause_ns < SELDOM_NS ? pause_ns : SELDOM_NS;
}

static uint64_t pause_of(bool fresh, uint64_t now)
{
    if (fresh)
        return OFTEN_NS;
    return unregistered ? pp_scan_pause_ns(now - changed_ns) : 0;
}

uint64_t pp_threads_scan(int flush_tid)
{
    static struct scan scan;
    check_main();
    if (unregistered || unreported)
        end_gone(!unreported);
    unsigned threads = pp_kernel_thread_count();
    scan.flush_tid = flush_tid;
    scan.next_count = 0;
    if (!threads || threads == count_all()) {
        suspect_count = 0;
        return pause_of(false, pp_sys_clock_ns(CLOCK_MONOTONIC));
    }
    note_known(false); /* before the slots of threads that are gone end: /proc may still name these */
    end_gone(false);
    each_task(inspect, &scan);
    uint64_t now = pp_sys_clock_ns(CLOCK_MONOTONIC);
    bool fresh = false;
    for (unsigned i = 0; i < scan.next_count; i++)
        fresh |= now - scan.next[i].since_ns < FRESH_NS;
    memcpy(suspects, scan.next, scan.next_count * sizeof *scan.next);
    suspect_count = scan.next_count;
    return pause_of(fresh, now);
}

bool pp_threads_are_known(void)
{
    return !unregistered && pp_kernel_thread_count() == count_all();
}

bool pp_threads_may_be_unregistered(void)
{
    return unregistered || unreported || suspect_count;
}

struct unregistered {
    int caller_tid;
    uint64_t sum_ns;
};

static void add_unregistered(const char *name, void *argument)
{
    struct unregistered *found = argument;
    int tid = tid_of(name);
    if (is_unknown(tid, found->caller_tid))
        found->sum_ns += pp_sys_clock_ns(pp_thread_cpu_clock(tid));
}

uint64_t pp_threads_unregistered_ns(void)
{
    struct unregistered found = {.caller_tid = pp_sys_gettid()};
    note_known(true);
    each_task(add_unregistered, &found);
    return found.sum_ns;
}

void pp_thread_scan_after_fork(void)
{
    suspect_count = 0;
    unregistered = unreported = false;
}

static void adopt_older(const char *name, void *argument)
{
    int tid = tid_of(name);
    if (tid && tid != *(const int *)argument)
        adopt(tid, pp_sys_clock_ns(pp_thread_cpu_clock(tid)));
}

void pp_threads_adopt_older(void)
{
    int caller_tid = pp_sys_gettid();
    if (pp_kernel_thread_count() > 1)
        each_task(adopt_older, &caller_tid);
}
