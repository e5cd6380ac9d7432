#include "registry.h"
#include "../base/arena.h"
#include "../base/lock.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/slot_memory.h"
#include "scan.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#define ENDED_WAKE 64 /* ended threads after which the flush thread does not wait for its interval */
/* Voluntary switches for one involuntary one up to which it was others that kept a thread from its CPU. */
#define PUSHED_OFF_SHARE 4
#define UNREACHABLE_NS   50000000u   /* burned by a thread before it is worth a word that no signal reaches it */
#define RING_KEPT        (16u << 10) /* bytes of a ring that a free slot keeps */
#define SLOTS_AT_ONCE    64

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51 /* bytes that the kernel takes of a stack for a signal: 3.5 KiB with AVX-512, 11 with AMX */
#endif
#define USUAL_MINSIGSTKSZ 4096 /* where the kernel does not tell, before 5.14 */
#define SIGNAL_SHARE      4    /* a signal may take this part of a stack, the program may need the rest */

_Atomic uint64_t pp_thread_reasons[PP_REASON_COUNT];
_Atomic uint32_t pp_slot_count;

static struct pp_lock registry;
static uint32_t free_slots[PP_MAX_THREADS];
static uint32_t free_count;
static _Atomic uint32_t ended_count;

static struct pp_slot *map_slot(uint32_t index)
{
    static struct pp_slot *batch;
    if (index % SLOTS_AT_ONCE == 0)
        batch = pp_map(SLOTS_AT_ONCE * sizeof *batch);
    if (!batch)
        return NULL;
    struct pp_slot *slot = &batch[index % SLOTS_AT_ONCE];
    slot->index = index;
    return slot;
}

/* Everything of a slot that belongs to the thread that had it. The code cache stays: its entries are compared at each
 * use, and the flush thread still has what they stand for. */
static void clear_thread(struct pp_slot *slot)
{
    atomic_store(&slot->tid, 0);
    slot->thread_pointer = 0;
    atomic_store(&slot->stack_top, 0);
    atomic_store(&slot->stack_low, 0);
    slot->lent_thread_state = slot->lent_by = 0;
    atomic_store(&slot->ran_python, 0);
    slot->voluntary_switches = slot->involuntary_switches = slot->counted_cpu_ns = 0;
    slot->pushed_off = false;
    slot->is_main = slot->scanned = slot->small_stack = false;
    atomic_store(&slot->believes_blocked, false);
    atomic_store(&slot->own_signal, 0);
    atomic_store(&slot->never_armed, false);
    slot->start_routine = NULL;
    slot->stack_size = 0;
    atomic_store(&slot->timer, -1);
    atomic_store(&slot->ending, 0);
    atomic_store(&slot->unreachable, 0);
    slot->vanished = slot->lingers = slot->out_of_reach = false;
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
    slot->flush.before_ns = slot->flush.accounted_ns = 0;
    slot->flush.clock_ns = slot->flush.clock_at_ns = slot->flush.watched_ns = 0;
    slot->flush.renewals = 0;
    slot->flush.mean_late_ns = 0;
    slot->flush.seen_own_ns = slot->flush.seen_lost_ns = 0;
    slot->flush.seen_lost_samples = 0;
    slot->flush.name_age = slot->flush.node_count = 0;
    memset(slot->flush.name, 0, sizeof slot->flush.name);
    pp_ring_reset(&slot->ring);
}

void pp_threads_warn_too_many(void)
{
    pp_warn_once(PP_CAUSE_THREAD, "too many threads, or no memory for another: some threads are not profiled");
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
        pp_threads_warn_too_many();
    }
    return slot;
}

void pp_slot_release(struct pp_slot *slot)
{
    /* a burst of threads does not keep their rings for ever */
    if (atomic_load(&slot->ring.head) > RING_KEPT)
        pp_syscall4(SYS_madvise, (long)(slot->ring.buffer + RING_KEPT), slot->ring.size - RING_KEPT, 4 /* DONTNEED */,
                    0);
    pp_lock_take(&registry);
    atomic_store(&slot->state, PP_SLOT_FREE);
    free_slots[free_count++] = slot->index;
    pp_lock_drop(&registry);
}

void pp_thread_arm(struct pp_slot *slot, enum pp_first_expiry first)
{
    atomic_store(&slot->state, PP_SLOT_LIVE);
    int error = pp_timer_arm(slot, first);
    if (error) {
        atomic_fetch_add(&pp_thread_reasons[PP_REASON_TIMER_FAILED], 1);
        if (error != EINVAL && error != ESRCH) /* then the thread has just ended */
            pp_warn_once(PP_CAUSE_TIMER, error == EAGAIN
                                             ? "timer_create failed, or would take more than half of `ulimit -i`: "
                                               "threads without a timer show as [unsampled]"
                                             : "timer_create is not permitted here (seccomp?): "
                                               "all CPU time shows as [unsampled]");
    }
}

void pp_thread_unblock(struct pp_slot *slot)
{
    slot->own_signal = atomic_load(&pp_capture.signal);
    uint64_t bit = (uint64_t)1 << (slot->own_signal - 1);
    if (!(pp_sys_signal_mask(SIG_BLOCK, 0) & bit))
        return;
    slot->believes_blocked = true; /* before a signal of the program's can come that waits */
    pp_sys_signal_mask(SIG_UNBLOCK, bit);
}

void pp_thread_has_stack(struct pp_slot *slot, size_t room)
{
    unsigned long kernels = getauxval(AT_MINSIGSTKSZ);
    slot->small_stack = room < SIGNAL_SHARE * ((kernels ? kernels : USUAL_MINSIGSTKSZ) + PP_HANDLER_STACK);
    slot->never_armed |= slot->small_stack;
}

static void arm_unless_never(struct pp_slot *slot, enum pp_first_expiry first)
{
    if (slot->never_armed)
        atomic_store(&slot->state, PP_SLOT_LIVE);
    else
        pp_thread_arm(slot, first);
}

void pp_thread_begin(struct pp_slot *slot, uintptr_t stack_low, uintptr_t stack_top)
{
    int tid = pp_sys_gettid();
    slot->thread_pointer = (uintptr_t)pthread_self();
    slot->is_main = tid == pp_sys_getpid();
    atomic_store(&slot->stack_low, stack_low);
    atomic_store(&slot->stack_top, stack_top);
    slot->flush.clock_at_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    atomic_store(&slot->tid, tid);
    pp_thread_unblock(slot);
    if (stack_low)
        pp_thread_has_stack(slot, (uintptr_t)__builtin_frame_address(0) - stack_low);
    arm_unless_never(slot, slot->start_routine ? PP_FIRST_TICK : PP_FIRST_RANDOM);
}

void pp_thread_begin_bare(struct pp_slot *slot)
{
    slot->scanned = true;
    slot->flush.clock_at_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    atomic_store(&slot->tid, pp_sys_gettid());
    arm_unless_never(slot, PP_FIRST_TICK);
}

struct pp_slot *pp_slot_of(int tid)
{
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < count; i++) {
        struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (slot && atomic_load(&slot->state) == PP_SLOT_LIVE && atomic_load(&slot->tid) == tid)
            return slot;
    }
    return NULL;
}

void pp_thread_never_arm(void)
{
    struct pp_slot *slot = pp_slot_of(pp_sys_gettid());
    if (!slot)
        return;
    atomic_store(&slot->never_armed, true);
    pp_timer_disarm(slot);
}

/* One that others push off meets fewer ticks, at moments that have nothing to do with its own work (three busy programs
 * on two CPUs: a quarter of the ticks). */
static bool was_pushed_off(void)
{
    struct rusage usage;
    if (pp_syscall4(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0) != 0)
        return false;
    return usage.ru_nivcsw > 0 && usage.ru_nivcsw >= usage.ru_nvcsw / PUSHED_OFF_SHARE;
}

void pp_thread_unreachable(struct pp_slot *slot)
{
    if (atomic_exchange(&slot->unreachable, 1))
        return;
    atomic_fetch_add(&pp_thread_reasons[slot->small_stack ? PP_REASON_SMALL_STACK : PP_REASON_UNREACHABLE], 1);
    char line[200];
    struct pp_text text;
    pp_text_init(&text, line, sizeof line);
    pp_text_add(&text, "thread ");
    pp_text_add_number(&text, (unsigned)atomic_load(&slot->tid));
    pp_text_add(&text, slot->small_stack ? " has too small a stack for a signal"
                                         : " cannot be interrupted (it blocks our signal past libc, or its "
                                           "system calls are dispatched to it)");
    pp_text_add(&text, ": such threads show as [unsampled]");
    pp_warn_once(slot->small_stack ? PP_CAUSE_SMALL_STACK : PP_CAUSE_UNREACHABLE, "%s", line);
}

void pp_thread_end(struct pp_slot *slot)
{
    atomic_store(&slot->ending, 1);
    pp_timer_disarm(slot);
    slot->pushed_off = was_pushed_off();
    pp_syscall4(SYS_prctl, 16 /* PR_GET_NAME */, (long)slot->final_name, 0, 0);
    uint64_t cpu_ns = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    atomic_store(&slot->final_cpu_ns, cpu_ns);
    slot->out_of_reach =
        cpu_ns >= UNREACHABLE_NS && (slot->never_armed || (pp_sys_signal_mask(SIG_BLOCK, 0) & pp_own_signal_bit()));
    if (slot->believes_blocked) /* no slot will tell from here on */
        pp_sys_signal_mask(SIG_BLOCK, (uint64_t)1 << (slot->own_signal - 1));
    if (slot->is_main) {
        atomic_store(&pp_process.main_watched, false);
        atomic_store(&pp_process.main_ended, true);
    }
    atomic_store_explicit(&slot->state, PP_SLOT_ENDED, memory_order_release);
    if (atomic_fetch_add(&ended_count, 1) % ENDED_WAKE == ENDED_WAKE - 1 || atomic_load(&pp_process.main_ended))
        pp_wake_flush(PP_WAKE_DRAIN);
}

struct pp_slot *pp_threads_after_fork(uintptr_t stack_low, uintptr_t stack_top, bool believes_blocked)
{
    pp_lock_reset(&registry);
    pp_slot_memory_after_fork();
    pp_timers_after_fork();
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
        atomic_store(&slot->judged_ns, 0);
        atomic_store(&slot->handler_max_ns, 0);
        for (unsigned k = 0; k < PP_HANDLER_BUCKETS; k++)
            atomic_store(&slot->handler_histogram[k], 0);
        free_slots[free_count++] = i;
    }
    for (unsigned i = 0; i < PP_REASON_COUNT; i++)
        atomic_store(&pp_thread_reasons[i], 0);
    struct pp_slot *slot = pp_slot_claim();
    if (slot) {
        slot->believes_blocked = believes_blocked;
        pp_thread_begin(slot, stack_low, stack_top);
    }
    return slot;
}

void pp_slot_begin_at(struct pp_slot *slot, uint64_t cpu_ns)
{
    slot->flush.before_ns = slot->flush.accounted_ns = cpu_ns;
    atomic_store(&slot->cpu_end_ns, cpu_ns);
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

bool pp_handlers_quiet(void)
{
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < count; i++) {
        const struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (slot && atomic_load(&slot->in_handler))
            return false;
    }
    return true;
}

bool pp_other_threads(bool python)
{
    int self = pp_sys_gettid();
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < count; i++) {
        const struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (slot && atomic_load(&slot->state) == PP_SLOT_LIVE && atomic_load(&slot->tid) != self &&
            (!python || atomic_load(&slot->ran_python) || pp_python_of_code((uintptr_t)slot->start_routine)))
            return true;
    }
    return false;
}
