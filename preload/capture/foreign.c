#include "foreign.h"
#include "../syscalls.h"
#include <string.h>

#define MOST_QUEUED 4 /* a signal like SIGPROF waits twice at most: for the thread and for the process */

bool pp_is_own_signal(const siginfo_t *info)
{
    return info->si_code == SI_TIMER && (uint64_t)info->si_value.sival_ptr >> 32 == PP_SIGVAL_MAGIC;
}

/* The calling thread's, NULL if it has none. Bounded by the number of slots. async-signal-safe. */
static struct pp_slot *slot_of_thread(void)
{
    int tid = pp_sys_gettid();
    struct pp_slot *slot;
    for (uint32_t i = 0; i < PP_MAX_THREADS && (slot = atomic_load(&pp_capture.slots[i])) != NULL; i++)
        if (atomic_load(&slot->state) != PP_SLOT_FREE && atomic_load_explicit(&slot->tid, memory_order_relaxed) == tid)
            return slot;
    return NULL;
}

/* To the thread if it was sent to it, else to the process, with what came with it. async-signal-safe. */
static void send_again(int signal, const siginfo_t *info)
{
    if (info->si_code == SI_TKILL)
        pp_syscall4(SYS_rt_tgsigqueueinfo, pp_sys_getpid(), pp_sys_gettid(), signal, (long)info);
    else /* any thread stands for its process here; one that names itself may say who sent it */
        pp_syscall4(SYS_rt_sigqueueinfo, pp_sys_gettid(), signal, (long)info, 0);
}

void pp_drop_ticks(int signal)
{
    uint64_t bit = (uint64_t)1 << (signal - 1);
    struct timespec now = {0, 0};
    siginfo_t waiting;
    for (int i = 0; i < MOST_QUEUED; i++) {
        if (pp_syscall4(SYS_rt_sigtimedwait, (long)&bit, (long)&waiting, (long)&now, sizeof bit) != signal)
            break;
        if (!pp_is_own_signal(&waiting)) {
            send_again(signal, &waiting);
            break;
        }
    }
}

/* The thread has blocked the signal, as it believes: now it is blocked in truth, and waits until somebody wants it. No
 * tick of ours may wait beside it, where sigpending or a signalfd would see it. async-signal-safe, bounded. */
static void hold(struct pp_slot *slot, int signal, const siginfo_t *info, ucontext_t *context)
{
    uint64_t bit = (uint64_t)1 << (signal - 1), mask;
    atomic_store(&slot->holds, 1);
    int timer = atomic_exchange(&slot->timer, -1);
    if (timer >= 0)
        pp_syscall4(SYS_timer_delete, timer, 0, 0, 0);
    memcpy(&mask, &context->uc_sigmask, sizeof mask);
    mask |= bit;
    memcpy(&context->uc_sigmask, &mask, sizeof mask);
    pp_drop_ticks(signal);
    send_again(signal, info);
}

/* With the mask that the kernel would have given it. One that leaves by a jump takes that with it. */
static void call(uintptr_t handler, uint32_t flags, int signal, siginfo_t *info, ucontext_t *context)
{
    uint64_t mask;
    memcpy(&mask, &context->uc_sigmask, sizeof mask);
    mask |= atomic_load_explicit(&pp_capture.application_mask, memory_order_relaxed);
    if (!(flags & SA_NODEFER))
        mask |= (uint64_t)1 << (signal - 1);
    if (flags & SA_RESETHAND)
        atomic_compare_exchange_strong(&pp_capture.application_handler, &(uintptr_t){handler}, (uintptr_t)SIG_DFL);
    if (atomic_load(&pp_capture.enabled))
        pp_sys_signal_mask(2 /* SIG_SETMASK */, mask);
    if (flags & SA_SIGINFO)
        ((void (*)(int, siginfo_t *, void *))handler)(signal, info, context);
    else
        ((void (*)(int))handler)(signal);
}

void pp_forward_signal(int signal, siginfo_t *info, void *context)
{
    struct pp_slot *slot = atomic_load(&pp_capture.enabled) ? slot_of_thread() : NULL;
    if (slot && slot->application_blocks) {
        hold(slot, signal, info, context);
        return;
    }
    uintptr_t handler = atomic_load_explicit(&pp_capture.application_handler, memory_order_acquire);
    if (handler == (uintptr_t)SIG_IGN)
        return;
    if (handler != (uintptr_t)SIG_DFL) {
        call(handler, atomic_load_explicit(&pp_capture.application_flags, memory_order_acquire), signal, info, context);
        return;
    }
    /* the default action ends the process: it happens when we return and the signal is no longer blocked */
    uint64_t default_action[4] = {0};
    pp_syscall4(SYS_rt_sigaction, signal, (long)default_action, 0, 8);
    pp_syscall4(SYS_tgkill, pp_sys_getpid(), pp_sys_gettid(), signal, 0);
}
