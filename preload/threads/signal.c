/* SPDX-License-Identifier: Apache-2.0 */
#include "signal.h"
#include "../base/config.h"
#include "../base/libc.h"
#include "../base/libc_kind.h"
#include "../base/lock.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../handler/handler.h"
#include "../modules/go_runtime.h"
#include "handover.h"
#include "perf_clock.h"
#include "reasons.h"
#include "thread_slot.h"
#include "timers.h"
#include <errno.h>
#include <string.h>

#define HIGHEST_FREE    63         /* valgrind keeps 64 for itself */
#define LOWEST_FREE     40         /* the first real-time signals are those that programs and runtimes take */
#define KERNEL_RESTORER 0x04000000 /* SA_RESTORER: libc's sigaction shows that libc has set it */
#define PAUSE_NS        100000

static struct pp_lock changing;
static struct sigaction believed; /* what the program has set our signal to last: SIG_DFL or SIG_IGN */
/* The handler runs on the alternate stack of a thread, if it has any: goroutines, on stacks of some KiB, have no room
 * for a signal. Elsewhere it does not: an alternate stack may be too small for ours, or gone. */
static _Atomic bool on_alternate_stack;
/* The signals that the program has blocked or waited for by name, as a mask: it uses them. */
static _Atomic uint64_t named;
/* The signal that is being given away, 0: none, and the action that it will have. What others do with that signal waits
 * for the lock until then. */
static _Atomic int leaving;
static struct sigaction leaving_action;
/* How many calls that set actions of other signals are on their way to the kernel. Such a signal may be chosen as ours
 * meanwhile: then the choice waits for them, and sees what they have set. */
static _Atomic unsigned passing;
#define PASSING_TURNS 100u /* of PAUSE_NS; a handler of the program's may have left such a call for ever */
#define CHOICES_MAX   8u

/* sigaction is allowed in handlers: none may run on top of the lock. Sets the mask for end_change. Returns false if
 * another thread is changing our signal: it may wait for the flush thread. */
static bool try_change(uint64_t *mask)
{
    *mask = pp_sys_signal_mask(SIG_SETMASK, UINT64_MAX);
    if (pp_lock_try(&changing))
        return true;
    pp_sys_signal_mask(SIG_SETMASK, *mask);
    return false;
}

/* The thread that is changing our signal may wait until this thread has followed, so its signals are not held back
 * meanwhile. Returns the mask for end_change. Not in the flush thread. */
static uint64_t begin_change(void)
{
    static const struct timespec pause = {0, PAUSE_NS};
    uint64_t mask;
    while (!try_change(&mask))
        pp_syscall4(SYS_nanosleep, (long)&pause, 0, 0, 0);
    return mask;
}

static void end_change(uint64_t mask)
{
    pp_lock_release(&changing);
    pp_sys_signal_mask(SIG_SETMASK, mask);
}

static bool put_ours(int signal)
{
    struct sigaction ours = {.sa_sigaction = pp_handle_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (atomic_load(&on_alternate_stack))
        ours.sa_flags |= SA_ONSTACK;
    /* all signals: a handler of the program's on top of ours could siglongjmp away and leave a sample half done */
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
    return pp_real()->sigaction(signal, &ours, NULL) == 0;
}

static void believe(const struct sigaction *action)
{
    believed = *action;
    believed.sa_flags |= KERNEL_RESTORER;
    believed.sa_mask.__val[0] &= ~((uint64_t)1 << (SIGKILL - 1) | (uint64_t)1 << (SIGSTOP - 1));
    atomic_store(&pp_capture.application_reacts, action->sa_handler != SIG_DFL);
}

static bool is_function(__sighandler_t handler)
{
    return handler != SIG_DFL && handler != SIG_IGN;
}

/* The sets by which programs block every signal there is, or wait for it, do not mean ours. */
static bool names_all(const sigset_t *set)
{
    uint64_t all = ((uint64_t)2 << (HIGHEST_FREE - 1)) - ((uint64_t)1 << (LOWEST_FREE - 1));
    return (set->__val[0] & all) == all;
}

/* Returns a real-time signal that the program seems not to use, 0 if there is none. mask: the calling thread's. */
static int free_signal(uint64_t mask)
{
    struct sigaction now;
    sigset_t blocked = {{mask}};
    uint64_t used = atomic_load(&named) | (names_all(&blocked) ? 0 : mask);
    for (int signal = HIGHEST_FREE; signal >= LOWEST_FREE; signal--)
        if (signal != atomic_load(&pp_capture.signal) && !(used >> (signal - 1) & 1) &&
            pp_real()->sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            return signal;
    return 0;
}

/* True if our handler has the signal now, which had that action. */
static bool take(int signal, const struct sigaction *action)
{
    if (!signal || !put_ours(signal))
        return false;
    believe(action);
    atomic_store(&pp_capture.signal, signal);
    return true;
}

/* Returns whether our handler is still what the chosen signal has, after all calls that did not see the choice. */
static bool is_kept(int signal)
{
    static const struct timespec pause = {0, PAUSE_NS};
    struct sigaction now;
    for (unsigned i = 0; i < PASSING_TURNS && atomic_load(&passing); i++)
        pp_syscall4(SYS_nanosleep, (long)&pause, 0, 0, 0);
    if (pp_real()->sigaction(signal, NULL, &now) != 0 || is_function(now.sa_handler))
        return now.sa_sigaction == pp_handle_signal;
    believe(&now);
    return put_ours(signal);
}

/* Chooses another signal. False: there is none. Under the lock; mask: what the calling thread blocks. */
static bool choose(uint64_t mask)
{
    static const struct sigaction none = {.sa_handler = SIG_DFL};
    int before = atomic_load(&pp_capture.signal);
    for (unsigned i = 0; i < CHOICES_MAX; i++) {
        int signal = free_signal(mask);
        if (!take(signal, &none))
            break;
        if (is_kept(signal))
            return true;
        atomic_fetch_or(&named, (uint64_t)1 << (signal - 1)); /* the program has taken it meanwhile */
    }
    atomic_store(&pp_capture.signal, before);
    believe(&leaving_action);
    return false;
}

bool pp_signal_install(void)
{
    static const struct sigaction none = {.sa_handler = SIG_DFL};
    struct sigaction before;
    if (pp_libc_kind.own_signals >> (pp_config.signal - 1) & 1) {
        pp_warn_once(PP_CAUSE_CONFIG_SIGNAL, "PYPROF_SIGNAL=%d: %s keeps that signal for itself: using SIGURG",
                     pp_config.signal, pp_libc_kind.name);
        pp_config.signal = SIGURG;
    }
    if (!pp_real()->sigaction || pp_real()->sigaction(pp_config.signal, NULL, &before) != 0)
        return false;
    if (pp_go_is_loaded())
        atomic_store(&on_alternate_stack, true);
    /* PostgreSQL, which loads Python late, reads the signal from a descriptor by then */
    sigset_t blocked = {{pp_sys_signal_mask(SIG_BLOCK, 0)}};
    bool waits = blocked.__val[0] >> (pp_config.signal - 1) & 1 && !names_all(&blocked);
    return waits || is_function(before.sa_handler) ? take(free_signal(blocked.__val[0]), &none)
                                                   : take(pp_config.signal, &before);
}

void pp_signal_follow(struct pp_slot *slot)
{
    if (slot->thread.profiler_signal == atomic_load(&pp_capture.signal))
        return;
    uint64_t mask = pp_sys_signal_mask(SIG_SETMASK, UINT64_MAX); /* no signal asks for the same meanwhile */
    pp_sys_signal_mask(SIG_SETMASK, pp_slot_follow_signal(slot, mask));
}

static void follow_here(void)
{
    struct pp_slot *slot = pp_slot_here();
    if (slot)
        pp_signal_follow(slot);
}

/* Has our handler take what is pending in this thread while the action is ours. What the program itself has blocked by
 * a handler's mask, say, is left: it may be its own. */
static void take_pending(int signal, uint64_t mask)
{
    uint64_t bit = (uint64_t)1 << (signal - 1);
    if (mask & bit)
        return;
    pp_sys_signal_mask(SIG_UNBLOCK, bit);
    pp_sys_signal_mask(SIG_BLOCK, bit);
}

/* Gives a former signal the action that the program has set last. Where the wait was in vain (a thread that cannot run,
 * as in vfork), a thread may still have one of ours pending, which the program's handler would see, or die of: the
 * kernel discards what is pending when a signal becomes ignored. */
static void put_last(int signal, const struct sigaction *last, bool quiet)
{
    static const struct sigaction ignored = {.sa_handler = SIG_IGN};
    if (!quiet)
        pp_real()->sigaction(signal, &ignored, NULL);
    pp_real()->sigaction(signal, last, NULL);
}

/* Moves our timers to another signal; ours gets the action that the program has set last, and is the program's from
 * then on. False if there is no other. at_once: the program handles it, and it must reach no thread that believes to
 * block it. Under the lock; mask: what the calling thread blocks. */
static bool give_away(uint64_t mask, bool at_once)
{
    int signal = atomic_load(&pp_capture.signal);
    bool quiet = true;
    leaving_action = believed;
    atomic_store(&leaving, signal);
    if (!choose(mask)) {
        atomic_store(&leaving, 0);
        return false;
    }
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (atomic_load(&slot->state) == PP_SLOT_LIVE)
            pp_timer_renew(slot);
    if (at_once)
        quiet = pp_handover_wait(signal);
    else
        pp_events_tell_end(pp_events_need_sigurg);
    if (at_once && (signal == SIGURG || leaving_action.sa_handler == SIG_DFL))
        take_pending(signal, mask);
    put_last(signal, &leaving_action, quiet);
    atomic_store(&leaving, 0);
    return true;
}

bool pp_signal_is_ours(int signal)
{
    return pp_is_enabled() && signal == atomic_load(&pp_capture.signal);
}

bool pp_signal_pass(int signal, __sighandler_t handler)
{
    uint64_t bit = signal >= LOWEST_FREE && signal <= HIGHEST_FREE ? (uint64_t)1 << (signal - 1) : 0;
    if (is_function(handler) && !(atomic_load(&named) & bit))
        atomic_fetch_or(&named, bit);
    atomic_fetch_add(&passing, 1);
    bool left = pp_is_enabled() && signal == atomic_load(&leaving);
    if (!(left || pp_signal_is_ours(signal)) || !pp_process_is_profiled())
        return true;
    atomic_fetch_sub(&passing, 1);
    return false;
}

void pp_signal_passed(void)
{
    atomic_fetch_sub(&passing, 1);
}

void pp_signal_give_away(const sigset_t *wanted)
{
    if (!wanted || !pp_is_enabled() || !pp_process_is_profiled() || names_all(wanted))
        return;
    if (wanted->__val[0] & ~atomic_load_explicit(&named, memory_order_relaxed))
        atomic_fetch_or(&named, wanted->__val[0]);
    int left = atomic_load(&leaving);
    uint64_t bits = pp_profiler_signal_bit() | (left ? (uint64_t)1 << (left - 1) : 0);
    if (!(wanted->__val[0] & bits))
        return;
    uint64_t mask = begin_change();
    if (wanted->__val[0] & pp_profiler_signal_bit())
        give_away(mask, true);
    end_change(mask);
    follow_here();
}

sigset_t pp_signal_waited(const struct pp_slot *slot, const sigset_t *set)
{
    sigset_t waited = *set;
    if (names_all(set))
        waited.__val[0] &= ~((uint64_t)1 << (slot->thread.profiler_signal - 1));
    return waited;
}

/* Whether the kernel has a timer left for us: the program may have lowered RLIMIT_SIGPENDING. */
static bool can_make_timers(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    int timer;
    if (pp_syscall4(SYS_timer_create, CLOCK_MONOTONIC, (long)&event, (long)&timer, 0) != 0)
        return false;
    pp_syscall4(SYS_timer_delete, timer, 0, 0, 0);
    return true;
}

void pp_signal_give_away_sigurg(void)
{
    uint64_t mask;
    if (!try_change(&mask))
        return;
    if (atomic_load(&pp_capture.signal) == SIGURG && can_make_timers())
        give_away(mask, false);
    end_change(mask);
}

void pp_signal_end(void)
{
    uint64_t mask = begin_change();
    if (atomic_load(&pp_capture.signal) == SIGURG)
        pp_real()->sigaction(SIGURG, &believed, NULL);
    end_change(mask);
}

void pp_signal_check_action(void)
{
    struct sigaction now;
    uint64_t mask;
    if (!try_change(&mask))
        return;
    int signal = atomic_load(&pp_capture.signal);
    if (pp_real()->sigaction(signal, NULL, &now) == 0 && now.sa_sigaction != pp_handle_signal) {
        bool function = is_function(now.sa_handler);
        atomic_fetch_add(&pp_thread_reasons[PP_REASON_ACTION_GONE], 1);
        if (!function)
            believe(&now);
        if (!function || !give_away(mask, true))
            put_ours(signal);
        else
            pp_real()->sigaction(signal, &now, NULL);
    } else if (!(now.sa_flags & SA_RESTART)) { /* siginterrupt */
        put_ours(signal);
    }
    pp_handover_ask_running(); /* of those that were not to follow at once */
    end_change(mask);
}

void pp_signal_after_fork(void)
{
    int signal = atomic_exchange(&leaving, 0); /* by a thread that the child does not have */
    pp_lock_reset(&changing);
    atomic_store(&passing, 0);
    if (signal)
        put_last(signal, &leaving_action, true);
}

/* Go's runtime asks for the action of every signal when it is loaded, before its first goroutine runs, and its own
 * handlers have SA_ONSTACK, as few others but CPython's have. An interpreter with Go in its own object had it at its
 * start. */
void pp_signal_check_go(uintptr_t caller, bool ours, const struct sigaction *action)
{
    bool alternate = action && (action->sa_flags & SA_ONSTACK);
    if (atomic_load_explicit(&on_alternate_stack, memory_order_relaxed) || !(alternate || (ours && !action)))
        return;
    if (pp_python_of_code(caller) || !pp_go_holds(caller))
        return;
    uint64_t mask = begin_change();
    atomic_store(&on_alternate_stack, true);
    put_ours(atomic_load(&pp_capture.signal));
    end_change(mask);
}

bool pp_signal_answer(int signal, const struct sigaction *action, struct sigaction *old)
{
    uint64_t mask = begin_change();
    *old = believed;
    bool ours = pp_signal_is_ours(signal) && !(action && is_function(action->sa_handler) && give_away(mask, true));
    if (ours && action)
        believe(action);
    end_change(mask);
    if (!ours)
        follow_here();
    return ours;
}

struct sigaction pp_signal_believed(void)
{
    return believed;
}
