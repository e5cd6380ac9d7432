#include "fork.h"
#include "capture/capture.h"
#include "config.h"
#include "flush/flush.h"
#include "interpose.h"
#include "libunwind.h"
#include "sandbox.h"
#include "start.h"
#include "syscalls.h"
#include "threads.h"
#include <stddef.h>

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));

static uint64_t mask_before_fork;
static int atfork_blocked;
static int forking_tid;
static bool gate_entered;

static void before_fork(void)
{
    if (pp_sandbox_silent())
        return;
    /* our thread is not inside the loader when the child is copied */
    gate_entered = pp_flush_gate_enter_to_fork();
    pp_libunwind_before_fork();
    forking_tid = pp_sys_gettid();
    /* a fork that is interrupted on some kernels starts again, for ever if it takes longer than a tick */
    mask_before_fork = pp_sys_signal_mask(SIG_BLOCK, pp_own_signal_bit());
    atfork_blocked = 1;
}

static void restore_mask(void)
{
    if (atfork_blocked)
        pp_sys_signal_mask(SIG_SETMASK, mask_before_fork);
    atfork_blocked = 0;
}

static void after_fork_in_parent(void)
{
    if (pp_sandbox_silent())
        return;
    bool entered = gate_entered;
    pp_libunwind_after_fork(false);
    restore_mask();
    if (entered)
        pp_flush_gate_leave();
}

static void after_fork_in_child(void)
{
    if (pp_sandbox_silent())
        return;
    const struct pp_slot *caller = NULL;
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < count && !caller; i++) {
        const struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (slot && atomic_load(&slot->state) == PP_SLOT_LIVE && atomic_load(&slot->tid) == forking_tid)
            caller = slot;
    }
    bool blocks = caller && caller->believes_blocked;
    /* 0, unknown, is looked up when the first signal comes */
    uintptr_t stack_low = caller ? atomic_load(&caller->stack_low) : 0;
    uintptr_t stack_top = caller ? atomic_load(&caller->stack_top) : 0;
    pp_birth.unix_ns = pp_sys_clock_ns(CLOCK_REALTIME);
    pp_birth.monotonic_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    pp_birth.process_cpu_ns = pp_birth.thread_cpu_ns = 0;
    pp_birth.voluntary_switches = pp_birth.involuntary_switches = pp_birth.minor_faults = pp_birth.major_faults = 0;
    atomic_store(&pp_capture.pid, pp_sys_getpid());
    pp_libunwind_after_fork(true);
    pp_interpose_action_after_fork();
    pp_flush_after_fork();
    restore_mask(); /* before the new slot looks at it */
    struct pp_slot *slot = pp_threads_after_fork(stack_low, stack_top, blocks);
    if (slot)
        pp_interpose_thread(slot);
    atomic_store(&pp_main_watched, slot != NULL);
    pp_flush_gate_reset();
}

bool pp_fork_can_watch(void)
{
    return __register_atfork;
}

bool pp_fork_watch(void)
{
    return __register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, NULL) == 0;
}
