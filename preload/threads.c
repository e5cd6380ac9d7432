#include "threads.h"
#include "config.h"
#include "flush/arena.h"
#include "lock.h"
#include "say.h"
#include "start.h"
#include "syscalls.h"
#include "timers.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#define ENDED_WAKE    64 /* ended threads after which the flush thread does not wait for its interval */
#define MAX_SUSPECTS  256
#define SUSPECT_NS    900000000u
#define RING_KEPT     (16u << 10) /* pages of a ring that a free slot keeps */
#define DIRENT_BUFFER 4096

_Atomic uint64_t pp_thread_reasons[PP_REASON_COUNT];
_Atomic uint32_t pp_slot_count;

static struct pp_lock registry;
static uint32_t free_slots[PP_MAX_THREADS];
static uint32_t free_count;
static _Atomic uint32_t ended_count;

/* Threads that had no slot when a scan looked. One that is just being made through us exists before it has written its
 * tid into its slot; if it still has none SUSPECT_NS later, nobody registered it. */
static struct suspect {
    int tid;
    uint64_t since_ns;
} suspects[MAX_SUSPECTS];
static unsigned suspect_count;
/* The main thread left by pthread_exit: it stays in /proc/self/task, a zombie, until the process ends. */
static _Atomic bool main_ended;

static struct pp_slot *map_slot(uint32_t index)
{
    /* the ring first, so that it begins with a page */
    size_t slot_bytes = (sizeof(struct pp_slot) + 63) & ~(size_t)63;
    uint8_t *memory = pp_map(PP_RING_SIZE + slot_bytes + sizeof(struct pp_scratch));
    if (!memory)
        return NULL;
    struct pp_slot *slot = (struct pp_slot *)(memory + PP_RING_SIZE);
    slot->index = index;
    slot->scratch = (struct pp_scratch *)((uint8_t *)slot + slot_bytes);
    slot->ring.buffer = memory;
    return slot;
}

/* Everything of a slot that belongs to the thread that had it. The code cache stays: its entries are compared at each
 * use, and the flush thread still has what they stand for. */
static void clear_thread(struct pp_slot *slot)
{
    atomic_store(&slot->tid, 0);
    slot->thread_pointer = 0;
    atomic_store(&slot->stack_top, 0);
    slot->known_thread_state = 0;
    atomic_store(&slot->ran_python, 0);
    slot->voluntary_switches = slot->involuntary_switches = 0;
    slot->is_main = slot->scanned = slot->application_blocks = false;
    slot->start_routine = NULL;
    slot->timer = -1;
    slot->start_unix_ns = pp_sys_clock_ns(CLOCK_REALTIME);
    atomic_store(&slot->in_handler, 0);
    atomic_store(&slot->cpu_end_ns, 0);
    atomic_store(&slot->own_ns, 0);
    atomic_store(&slot->lost_ns, 0);
    atomic_store(&slot->lost_samples, 0);
    atomic_store(&slot->unknown_stack_sp, 0);
    atomic_store(&slot->final_cpu_ns, 0);
    memset(slot->final_name, 0, sizeof slot->final_name);
    slot->end_rounds = 0;
    slot->flush.log_thread = 0;
    slot->flush.before_ns = slot->flush.accounted_ns = slot->flush.clock_ns = 0;
    slot->flush.seen_own_ns = slot->flush.seen_lost_ns = 0;
    slot->flush.seen_lost_samples = 0;
    slot->flush.name_age = slot->flush.node_count = 0;
    memset(slot->flush.name, 0, sizeof slot->flush.name);
    pp_ring_reset(&slot->ring);
}

struct pp_slot *pp_slot_claim(void)
{
    struct pp_slot *slot = NULL;
    pp_lock_take(&registry);
    uint32_t count = atomic_load(&pp_slot_count);
    if (free_count) {
        slot = atomic_load(&pp_capture.slots[free_slots[--free_count]]);
    } else if (count < PP_MAX_THREADS && (slot = map_slot(count))) {
        atomic_store(&pp_capture.slots[count], slot);
        atomic_store(&pp_slot_count, count + 1);
    }
    if (slot) {
        clear_thread(slot);
        atomic_store(&slot->state, PP_SLOT_CLAIMED);
    }
    pp_lock_drop(&registry);
    if (!slot) {
        atomic_fetch_add(&pp_thread_reasons[PP_REASON_NO_SLOT], 1);
        pp_say_once(PP_CAUSE_THREAD, "too many threads, or no memory for another: some threads are not profiled");
    }
    return slot;
}

void pp_slot_release(struct pp_slot *slot)
{
    /* a burst of threads does not keep their rings for ever */
    if (atomic_load(&slot->ring.head) > RING_KEPT)
        pp_syscall4(SYS_madvise, (long)(slot->ring.buffer + RING_KEPT), PP_RING_SIZE - RING_KEPT, 4 /* DONTNEED */, 0);
    pp_lock_take(&registry);
    atomic_store(&slot->state, PP_SLOT_FREE);
    free_slots[free_count++] = slot->index;
    pp_lock_drop(&registry);
}

/* Makes a claimed slot whose tid is set LIVE. */
static void arm(struct pp_slot *slot, enum pp_first_expiry first)
{
    atomic_store(&slot->state, PP_SLOT_LIVE);
    int error = pp_timer_arm(slot, first);
    if (error) {
        atomic_fetch_add(&pp_thread_reasons[PP_REASON_TIMER_FAILED], 1);
        if (error == EAGAIN) /* else the thread has just ended */
            pp_say_once(PP_CAUSE_TIMER, "timer_create failed (is `ulimit -i` used up?): "
                                        "threads without a timer show as [unsampled]");
    }
}

/* Returns whether it was blocked. */
static bool unblock_signal(void)
{
    uint64_t set = (uint64_t)1 << (pp_config.signal - 1);
    return pp_sys_signal_mask(SIG_UNBLOCK, set) & set;
}

void pp_thread_begin(struct pp_slot *slot, uintptr_t stack_top)
{
    int tid = pp_sys_gettid();
    slot->thread_pointer = (uintptr_t)pthread_self();
    slot->is_main = tid == pp_sys_getpid();
    atomic_store(&slot->stack_top, stack_top);
    atomic_store(&slot->tid, tid);
    if (unblock_signal())
        slot->application_blocks = true;
    arm(slot, slot->start_routine ? PP_FIRST_TICK : PP_FIRST_RANDOM);
}

/* Of its whole life: no handler, which counts them from sample to sample, comes any more. */
static void note_switches(struct pp_slot *slot)
{
    struct rusage usage;
    if (pp_syscall4(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0) != 0)
        usage.ru_nvcsw = usage.ru_nivcsw = 0;
    slot->voluntary_switches = (uint64_t)usage.ru_nvcsw;
    slot->involuntary_switches = (uint64_t)usage.ru_nivcsw;
}

void pp_thread_end(struct pp_slot *slot)
{
    pp_timer_disarm(slot);
    note_switches(slot);
    pp_syscall4(SYS_prctl, 16 /* PR_GET_NAME */, (long)slot->final_name, 0, 0);
    atomic_store(&slot->final_cpu_ns, pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID));
    if (slot->is_main)
        atomic_store(&main_ended, true);
    atomic_store_explicit(&slot->state, PP_SLOT_ENDED, memory_order_release);
    if (atomic_fetch_add(&ended_count, 1) % ENDED_WAKE == ENDED_WAKE - 1 || atomic_load(&main_ended))
        pp_wake_flush(PP_WAKE_DRAIN);
}

struct pp_slot *pp_threads_after_fork(uintptr_t stack_top, bool application_blocks)
{
    pp_lock_reset(&registry);
    uint32_t count = atomic_load(&pp_slot_count);
    free_count = 0;
    for (uint32_t i = count; i-- > 0;) {
        struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (!slot)
            continue;
        clear_thread(slot);
        atomic_store(&slot->state, PP_SLOT_FREE);
        /* the sums over threads were the parent's */
        atomic_store(&slot->handler_count, 0);
        atomic_store(&slot->handler_sum_ns, 0);
        atomic_store(&slot->handler_max_ns, 0);
        for (unsigned k = 0; k < PP_HANDLER_BUCKETS; k++)
            atomic_store(&slot->handler_histogram[k], 0);
        free_slots[free_count++] = i;
    }
    for (unsigned i = 0; i < PP_REASON_COUNT; i++)
        atomic_store(&pp_thread_reasons[i], 0);
    suspect_count = 0;
    atomic_store(&main_ended, false);
    struct pp_slot *slot = pp_slot_claim();
    if (slot) {
        slot->application_blocks = application_blocks;
        pp_thread_begin(slot, stack_top);
    }
    return slot;
}

/* By the link count of /proc/self/task: no descriptor needed. */
unsigned pp_kernel_thread_count(void)
{
    struct {
        unsigned long dev, ino, nlink, rest[18];
    } status;
    if (pp_syscall4(SYS_stat, (long)"/proc/self/task", (long)&status, 0, 0) != 0 || status.nlink < 3)
        return 0;
    return (unsigned)(status.nlink - 2);
}

/* Tids that have a live slot, in order. Only the flush thread scans. */
static int known_tids[PP_MAX_THREADS];

static void sift_down(int *heap, unsigned root, unsigned count)
{
    for (unsigned child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[root] >= heap[child])
            return;
        int other = heap[root];
        heap[root] = heap[child];
        heap[child] = other;
    }
}

static void sort(int *values, unsigned count)
{
    for (unsigned i = count / 2; i-- > 0;)
        sift_down(values, i, count);
    while (count > 1) {
        int largest = values[0];
        values[0] = values[--count];
        values[count] = largest;
        sift_down(values, 0, count);
    }
}

static bool is_known(int tid, unsigned known)
{
    unsigned low = 0, high = known;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (known_tids[middle] == tid)
            return true;
        if (known_tids[middle] < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* How long a tid has been without a slot; notes it at first sight. */
static uint64_t suspect_for_ns(int tid, uint64_t now, struct suspect *next, unsigned *next_count)
{
    uint64_t since = now;
    for (unsigned i = 0; i < suspect_count; i++)
        if (suspects[i].tid == tid)
            since = suspects[i].since_ns;
    if (*next_count < MAX_SUSPECTS)
        next[(*next_count)++] = (struct suspect){tid, since};
    return now - since;
}

/* struct pthread.tid, at the same place in every x86-64 glibc from 2.4 on; a look makes sure of it. */
#define DESCRIPTOR_TID 720

void pp_threads_learn_descriptor(void)
{
    if (*(const int *)((uintptr_t)pthread_self() + DESCRIPTOR_TID) == pp_sys_gettid())
        atomic_store(&pp_capture.descriptor_tid_offset, DESCRIPTOR_TID);
}

void pp_slot_begin_at(struct pp_slot *slot, uint64_t cpu_ns)
{
    slot->flush.before_ns = slot->flush.accounted_ns = cpu_ns;
    atomic_store(&slot->cpu_end_ns, cpu_ns);
}

/* A thread that was not made through us. Its thread pointer is read by its own first signal (capture/sample.c). */
static void adopt(int tid, uint64_t before_ns)
{
    struct pp_slot *slot = pp_slot_claim();
    if (!slot)
        return;
    pp_slot_begin_at(slot, before_ns);
    atomic_store(&slot->tid, tid);
    slot->is_main = tid == pp_sys_getpid();
    if (slot->is_main)
        atomic_store(&slot->stack_top, pp_birth.main_stack_top);
    slot->scanned = true;
    arm(slot, PP_FIRST_RANDOM);
}

static void end_missing(struct pp_slot *slot)
{
    if (atomic_load(&slot->state) != PP_SLOT_LIVE)
        return; /* ended by itself meanwhile */
    pp_timer_disarm(slot);
    /* its clock is gone with it: the later of what its last handler and the last flush saw is what we know */
    uint64_t seen = atomic_load(&slot->cpu_end_ns);
    atomic_store(&slot->final_cpu_ns, slot->flush.clock_ns > seen ? slot->flush.clock_ns : seen);
    atomic_store(&slot->state, PP_SLOT_ENDED);
}

static bool task_exists(int tid)
{
    return pp_syscall4(SYS_tgkill, pp_sys_getpid(), tid, 0, 0) == 0;
}

bool pp_threads_all_ended(void)
{
    /* the zombie of the main thread, and ours */
    return atomic_load(&main_ended) && pp_kernel_thread_count() == 2;
}

/* Whether some live slot has the tid by now. */
static bool has_slot(int tid)
{
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < count; i++) {
        const struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (slot && atomic_load(&slot->state) == PP_SLOT_LIVE && atomic_load(&slot->tid) == tid)
            return true;
    }
    return false;
}

static unsigned list_known(void)
{
    unsigned known = 0;
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < count; i++) {
        const struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (slot && atomic_load(&slot->state) == PP_SLOT_LIVE && atomic_load(&slot->tid))
            known_tids[known++] = atomic_load(&slot->tid);
    }
    return known;
}

static void end_gone(void)
{
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < count; i++) {
        struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (slot && atomic_load(&slot->state) == PP_SLOT_LIVE && !task_exists(atomic_load(&slot->tid)))
            end_missing(slot);
    }
}

/* Calls visit for every thread of /proc/self/task. */
static void each_task(void (*visit)(int tid, void *argument), void *argument)
{
    int directory = pp_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (directory < 0)
        return;
    _Alignas(8) char buffer[DIRENT_BUFFER];
    long bytes;
    while ((bytes = pp_syscall4(SYS_getdents64, directory, (long)buffer, sizeof buffer, 0)) > 0) {
        for (long at = 0; at < bytes;) {
            const char *entry = buffer + at;
            uint16_t length;
            memcpy(&length, entry + 16, sizeof length);
            int tid = 0;
            for (const char *p = entry + 19; *p >= '0' && *p <= '9'; p++)
                tid = tid * 10 + (*p - '0');
            if (tid)
                visit(tid, argument);
            at += length;
        }
    }
    pp_sys_close(directory);
}

struct scan {
    int own_tid;
    unsigned known, next_count;
    struct suspect next[MAX_SUSPECTS];
};

static void inspect(int tid, void *argument)
{
    struct scan *scan = argument;
    if (tid == scan->own_tid || is_known(tid, scan->known) || (main_ended && tid == pp_sys_getpid()))
        return;
    uint64_t now = pp_sys_clock_ns(CLOCK_MONOTONIC);
    if (suspect_for_ns(tid, now, scan->next, &scan->next_count) >= SUSPECT_NS && !has_slot(tid))
        adopt(tid, 0);
}

void pp_threads_scan(int own_tid)
{
    static struct scan scan;
    unsigned threads = pp_kernel_thread_count();
    scan.own_tid = own_tid;
    scan.known = list_known();
    scan.next_count = 0;
    if (!threads || threads == scan.known + 1 + main_ended)
        return;
    end_gone();
    sort(known_tids, scan.known);
    each_task(inspect, &scan);
    memcpy(suspects, scan.next, scan.next_count * sizeof *scan.next);
    suspect_count = scan.next_count;
}

struct adoption {
    int own_tid;
    bool late;
};

static void adopt_older(int tid, void *argument)
{
    const struct adoption *adoption = argument;
    if (tid == adoption->own_tid)
        return;
    adopt(tid, adoption->late           ? pp_sys_clock_ns(pp_thread_cpu_clock(tid))
               : tid == pp_sys_getpid() ? pp_birth.thread_cpu_ns
                                        : 0);
}

void pp_threads_adopt_older(bool late)
{
    struct adoption adoption = {pp_sys_gettid(), late};
    if (pp_kernel_thread_count() > 1)
        each_task(adopt_older, &adoption);
}

void pp_each_slot(void (*visit)(struct pp_slot *slot))
{
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < count; i++) {
        struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (slot)
            visit(slot);
    }
}
