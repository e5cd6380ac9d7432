/* SPDX-License-Identifier: Apache-2.0 */
#include "registry.h"
#include "../base/arena.h"
#include "../base/lock.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../common/pseudo_frames.h"
#include "perf_clock.h"
#include "reasons.h"
#include "thread_slot.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#define ENDED_WAKE 64 /* ended threads after which the flush thread does not wait for its interval */
/* Up to so many voluntary switches for an involuntary one, other threads kept a thread from its CPU. */
#define PUSHED_OFF_SHARE 4
#define RING_KEPT        (16u << 10) /* bytes of a ring that a free slot keeps */
#define SLOTS_AT_ONCE    64

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51 /* the stack that the kernel takes for a signal: 3.5 KiB with AVX-512, 11 with AMX */
#endif
#define SIGNAL_SHARE 4 /* a signal may take this part of a stack, the program may need the rest */

static struct pp_lock registry;
static uint32_t free_slots[PP_MAX_THREADS];
static uint32_t free_count;
static _Atomic uint32_t slot_count;
static _Atomic uint32_t ended_count;
static _Atomic uint32_t at_work; /* threads between begin_work and end_work */

static struct pp_slot *map_slot(uint32_t index)
{
    static struct pp_slot *batch;
    uint32_t at = index % SLOTS_AT_ONCE;
    if (at == 0)
        batch = pp_map(SLOTS_AT_ONCE * sizeof *batch);
    if (!batch)
        return NULL;
    batch[at].index = index;
    return &batch[at];
}

/* The code cache stays: its entries are compared at each use, and the flush thread still has their code objects. */
static void clear_thread(struct pp_slot *slot)
{
    atomic_store(&slot->tid, 0);
    atomic_store(&slot->timer, PP_TIMER_NONE);
    atomic_store(&slot->in_handler, 0);
    slot->thread = (struct pp_slot_thread){.start_unix_ns = pp_sys_clock_ns(CLOCK_REALTIME)};
    slot->flush = (struct pp_slot_flush){0};
    pp_ring_reset(&slot->ring);
}

void pp_threads_warn_too_many(void)
{
    pp_warn_once(PP_CAUSE_THREAD, "too many threads, or no memory for another: some threads are not profiled");
}

/* Begins what a thread of the program does for its slot by system calls: no handler of the program runs in the middle
 * of it, which may fork or end the process, and no seccomp filter is installed meanwhile. Sets the mask for end_work.
 * Returns false if profiling has ended. */
static bool begin_work(uint64_t *mask)
{
    *mask = pp_sys_signal_mask(SIG_SETMASK, UINT64_MAX);
    atomic_fetch_add(&at_work, 1);
    return !atomic_load(&pp_process.silent);
}

static void end_work(uint64_t mask)
{
    atomic_fetch_sub(&at_work, 1);
    pp_sys_signal_mask(SIG_SETMASK, mask);
}

static struct pp_slot *claim(void)
{
    struct pp_slot *slot = NULL;
    const struct pp_slot *creator = pp_slot_here();
    pp_lock_acquire(&registry);
    if (free_count)
        slot = pp_slot_at(free_slots[--free_count]);
    else if (slot_count < PP_MAX_THREADS && (slot = map_slot(slot_count))) {
        atomic_store(&pp_capture.slots[slot_count], slot);
        atomic_fetch_add(&slot_count, 1); /* last: the child of a fork in between finds no gap */
    }
    if (slot) {
        clear_thread(slot);
        /* a thread inherits the mask that its creator believes to have */
        slot->thread.believes_blocked = creator && creator->thread.believes_blocked;
        pp_slot_become(slot, PP_SLOT_CLAIMED);
    }
    pp_lock_release(&registry);
    if (!slot) {
        atomic_fetch_add(&pp_thread_reasons[PP_REASON_NO_SLOT], 1);
        pp_threads_warn_too_many();
    }
    return slot;
}

struct pp_slot *pp_slot_claim(void)
{
    uint64_t mask;
    /* in the child of a raw fork no flush thread would drain it */
    struct pp_slot *slot = begin_work(&mask) && pp_process_is_profiled() ? claim() : NULL;
    end_work(mask);
    return slot;
}

void pp_slot_release(struct pp_slot *slot)
{
    uint64_t mask = pp_sys_signal_mask(SIG_SETMASK, UINT64_MAX);
    /* a burst of threads does not keep their rings for ever */
    if (atomic_load(&slot->ring.head) > RING_KEPT)
        pp_sys_madvise(slot->ring.buffer + RING_KEPT, slot->ring.size - RING_KEPT, PP_MADV_DONTNEED);
    pp_lock_acquire(&registry);
    PP_CHECK(free_count < slot_count);
    pp_slot_become(slot, PP_SLOT_FREE);
    free_slots[free_count++] = slot->index;
    pp_lock_release(&registry);
    pp_sys_signal_mask(SIG_SETMASK, mask);
}

void pp_thread_arm(struct pp_slot *slot, enum pp_first_expiry first)
{
    pp_slot_become(slot, PP_SLOT_LIVE);
    int error = pp_timer_arm(slot, first);
    if (error) {
        atomic_fetch_add(&pp_thread_reasons[PP_REASON_TIMER_FAILED], 1);
        if (error != EINVAL && error != ESRCH) /* then the thread has just ended */
            pp_warn_once(PP_CAUSE_TIMER, error == EAGAIN
                                             ? "timer_create failed, or would take more than half of `ulimit -i`: "
                                               "threads without a timer show as " PP_PSEUDO_UNSAMPLED
                                             : "timer_create is not permitted here (seccomp?): "
                                               "all CPU time shows as " PP_PSEUDO_UNSAMPLED);
    }
}

/* Takes our signal out of a mask; the slot notes whether it was there, as the program believes. */
static uint64_t mask_without_ours(struct pp_slot *slot, uint64_t mask)
{
    slot->thread.profiler_signal = atomic_load(&pp_capture.signal);
    uint64_t bit = (uint64_t)1 << (slot->thread.profiler_signal - 1);
    if (mask & bit)
        slot->thread.believes_blocked = true; /* first: a signal of the program's may be pending */
    return mask & ~bit;
}

void pp_thread_unblock(struct pp_slot *slot)
{
    uint64_t mask = pp_sys_signal_mask(SIG_BLOCK, 0), without = mask_without_ours(slot, mask);
    if (without != mask)
        pp_sys_signal_mask(SIG_UNBLOCK, mask & ~without);
}

void pp_thread_has_stack(struct pp_slot *slot, size_t room)
{
    unsigned long kernels = getauxval(AT_MINSIGSTKSZ);
    if (room < SIGNAL_SHARE * ((kernels ? kernels : PP_USUAL_MINSIGSTKSZ) + PP_HANDLER_STACK))
        pp_timer_disarm(slot, PP_TIMER_SMALL_STACK);
}

void pp_thread_begin(struct pp_slot *slot, uintptr_t stack_low, uintptr_t stack_top)
{
    uint64_t mask;
    /* if a handler has forked in this thread before this, the child's thread has a slot */
    if (!begin_work(&mask) || pp_slot_here()) {
        pp_slot_release(slot);
        end_work(mask);
        return;
    }
    int tid = pp_sys_gettid();
    pp_thread_bind(slot);
    slot->thread.thread_pointer = pp_own_thread_pointer();
    slot->thread.is_main = tid == pp_sys_getpid();
    atomic_store(&slot->thread.stack_low, stack_low);
    atomic_store(&slot->thread.stack_top, stack_top);
    slot->flush.clock_at_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    atomic_store(&slot->tid, tid);
    if (stack_low)
        pp_thread_has_stack(slot, (uintptr_t)__builtin_frame_address(0) - stack_low);
    pp_thread_arm(slot, slot->thread.start_routine ? PP_FIRST_TICK : PP_FIRST_RANDOM);
    pp_event_thread_begins();
    end_work(mask_without_ours(slot, mask));
}

void pp_thread_begin_bare(struct pp_slot *slot)
{
    uint64_t mask;
    if (!begin_work(&mask) || pp_slot_of(pp_sys_gettid())) {
        pp_slot_release(slot);
    } else {
        slot->thread.scanned = true;
        slot->flush.clock_at_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
        atomic_store(&slot->tid, pp_sys_gettid());
        pp_thread_arm(slot, PP_FIRST_TICK);
        pp_event_thread_begins();
    }
    end_work(mask);
}

void pp_thread_never_arm(void)
{
    struct pp_slot *slot = pp_slot_of(pp_sys_gettid());
    if (!slot)
        return;
    pp_timer_disarm(slot, PP_TIMER_UNREACHABLE);
    /* a signal that comes late would end the process: the handler's system calls would be dispatched, too */
    if (!pp_events_end("a thread has its system calls dispatched to itself"))
        pp_sys_signal_mask(SIG_BLOCK, pp_profiler_signal_bit());
}

/* A thread that others push off its CPU meets fewer ticks, at moments that have nothing to do with its own work (three
 * busy programs on two CPUs: a quarter of the ticks). */
static bool was_pushed_off(void)
{
    struct rusage usage;
    if (pp_syscall4(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0) != 0)
        return false;
    return usage.ru_nivcsw > 0 && usage.ru_nivcsw >= usage.ru_nvcsw / PUSHED_OFF_SHARE;
}

void pp_thread_unreachable(struct pp_slot *slot)
{
    if (slot->flush.unreachable)
        return;
    slot->flush.unreachable = true;
    bool small_stack = atomic_load(&slot->timer) == PP_TIMER_SMALL_STACK;
    atomic_fetch_add(&pp_thread_reasons[small_stack ? PP_REASON_SMALL_STACK : PP_REASON_UNREACHABLE], 1);
    pp_warn_once(small_stack ? PP_CAUSE_SMALL_STACK : PP_CAUSE_UNREACHABLE,
                 "thread %d %s: such threads show as " PP_PSEUDO_UNSAMPLED, atomic_load(&slot->tid),
                 small_stack ? "has too small a stack for a signal"
                             : "cannot be interrupted (it blocks our signal past libc, or its system calls are "
                               "dispatched to it)");
}

/* Ends the slot of a thread that had this mask; returns the one that it is to have. */
static uint64_t end_thread(struct pp_slot *slot, uint64_t mask)
{
    struct pp_slot_thread *thread = &slot->thread;
    /* by the signal that it has followed last: ours may have changed since, if it had no time to follow that */
    uint64_t bit = thread->profiler_signal ? (uint64_t)1 << (thread->profiler_signal - 1) : 0;
    bool blocked = mask & bit;
    pp_timer_disarm(slot, blocked ? PP_TIMER_UNREACHABLE : PP_TIMER_ENDED);
    thread->pushed_off = was_pushed_off();
    pp_syscall4(SYS_prctl, 16 /* PR_GET_NAME */, (long)thread->final_name, 0, 0);
    atomic_store(&thread->final_cpu_ns, pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID));
    if (thread->believes_blocked) /* nothing corrects what the thread reads from here on */
        mask |= bit;
    if (thread->is_main) {
        atomic_store(&pp_process.main_watched, false);
        atomic_store(&pp_process.main_ended, true);
    }
    pp_slot_become(slot, PP_SLOT_ENDED);
    if (atomic_fetch_add(&ended_count, 1) % ENDED_WAKE == ENDED_WAKE - 1 || atomic_load(&pp_process.main_ended))
        pp_wake_flush(PP_WAKE_DRAIN);
    return mask;
}

void pp_thread_end(struct pp_slot *slot)
{
    uint64_t mask;
    bool ours = begin_work(&mask) && atomic_load(&slot->state) == PP_SLOT_LIVE &&
                atomic_load(&slot->tid) == pp_sys_gettid(); /* a fork may have given the slot away */
    end_work(ours ? end_thread(slot, mask) : mask);
}

void pp_slot_begin_at(struct pp_slot *slot, uint64_t cpu_ns)
{
    slot->flush.before_ns = slot->flush.accounted_ns = cpu_ns;
    atomic_store(&slot->thread.cpu_end_ns, cpu_ns);
}

bool pp_handlers_quiet(void)
{
    for (const struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (atomic_load(&slot->in_handler))
            return false;
    return true;
}

bool pp_threads_quiet(void)
{
    return !atomic_load(&at_work) && pp_handlers_quiet();
}

bool pp_other_threads(bool python)
{
    int self = pp_sys_gettid();
    for (const struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (atomic_load(&slot->state) == PP_SLOT_LIVE && atomic_load(&slot->tid) != self &&
            (!python || atomic_load(&slot->thread.ran_python) ||
             pp_python_of_code((uintptr_t)slot->thread.start_routine)))
            return true;
    return false;
}

void pp_registry_after_fork(void)
{
    pp_lock_reset(&registry);
    atomic_store(&at_work, 0);
    free_count = 0;
    for (uint32_t i = slot_count; i-- > 0;) {
        struct pp_slot *slot = pp_slot_at(i);
        if (!slot || atomic_load(&slot->state) == PP_SLOT_CLAIMED)
            continue;
        clear_thread(slot);
        slot->cost = (struct pp_slot_cost){0};
        atomic_store(&slot->state, PP_SLOT_FREE);
        free_slots[free_count++] = i;
    }
}
