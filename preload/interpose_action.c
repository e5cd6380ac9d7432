/*
 * The action of our signal. The application may set and ask for one as if we were not there; our handler stays in place
 * and passes on what is not ours (capture/handler.c). SIG_DFL is never really put back: a tick that is already on its
 * way would end the process.
 */
#include "capture/capture.h"
#include "config.h"
#include "go_runtime.h"
#include "interpose.h"
#include "lock.h"
#include "syscalls.h"
#include <errno.h>
#include <string.h>

static struct pp_lock changing;
static struct sigaction believed; /* what the application set last */
static unsigned ignoring;         /* threads that start a program which is to inherit SIG_IGN */
/* The handler runs on alternate stacks, where a thread has one: the program's own for this signal is to, or the stacks
 * of goroutines, some KiB each, are not for handlers at all. Else it does not: some alternate stacks have no room for
 * the kernel's part of a signal, and some are gone. */
static _Atomic bool on_alternate_stack;

static void install_ours(struct sigaction *action)
{
    memset(action, 0, sizeof *action);
    action->sa_sigaction = pp_handle_signal;
    /* a program that has set a handler without SA_RESTART counts on EINTR: CPython runs its handlers then */
    bool restarts = atomic_load(&pp_capture.application_handler) <= (uintptr_t)SIG_IGN ||
                    (atomic_load(&pp_capture.application_flags) & SA_RESTART);
    action->sa_flags = SA_SIGINFO | (restarts ? SA_RESTART : 0) | (atomic_load(&on_alternate_stack) ? SA_ONSTACK : 0);
    /* all signals: an application's handler on top of ours could siglongjmp away and leave a sample half done */
    memset(&action->sa_mask, 0xff, sizeof action->sa_mask);
}

static void believe(const struct sigaction *action)
{
    believed = *action;
    atomic_store(&pp_capture.application_flags, (uint32_t)action->sa_flags);
    atomic_store(&pp_capture.application_mask, action->sa_mask.__val[0]);
    atomic_store(&pp_capture.application_handler, (uintptr_t)action->sa_handler);
}

bool pp_interpose_install_handler(void)
{
    const struct pp_real *libc = pp_real();
    struct sigaction ours, before;
    if (!libc->sigaction || libc->sigaction(pp_config.signal, NULL, &before) != 0)
        return false;
    if ((before.sa_flags & SA_ONSTACK) || pp_go_is_loaded())
        atomic_store(&on_alternate_stack, true);
    believe(&before);
    install_ours(&ours);
    return libc->sigaction(pp_config.signal, &ours, NULL) == 0;
}

/* sigaction is allowed in handlers: none may run on top of the lock. Returns the mask for end_change. */
static uint64_t begin_change(void)
{
    uint64_t mask = pp_sys_signal_mask(SIG_SETMASK, UINT64_MAX);
    pp_lock_take(&changing);
    return mask;
}

static void end_change(uint64_t mask)
{
    pp_lock_drop(&changing);
    pp_sys_signal_mask(SIG_SETMASK, mask);
}

static void put_ours(void)
{
    struct sigaction ours;
    install_ours(&ours);
    pp_real()->sigaction(pp_config.signal, &ours, NULL);
}

/* In the child of vfork the memory is the parent's, and the actions are its own. */
static bool is_own_process(void)
{
    return pp_sys_getpid() == atomic_load(&pp_capture.pid);
}

static bool is_ours(int signal)
{
    return atomic_load_explicit(&pp_capture.enabled, memory_order_acquire) && signal == pp_config.signal;
}

void pp_interpose_action_after_fork(void)
{
    pp_lock_reset(&changing);
    /* another thread may have been starting a program: the kernel copied its SIG_IGN, whatever `ignoring` says */
    if (atomic_load(&pp_capture.application_handler) == (uintptr_t)SIG_IGN)
        put_ours();
    ignoring = 0;
}

bool pp_interpose_ignore(void)
{
    static const struct sigaction ignore = {.sa_handler = SIG_IGN};
    const struct pp_real *libc = pp_real();
    struct sigaction now;
    if (atomic_load(&pp_capture.application_handler) != (uintptr_t)SIG_IGN)
        return false;
    if (!is_own_process())
        return libc->sigaction(pp_config.signal, NULL, &now) == 0 && now.sa_sigaction == pp_handle_signal &&
               libc->sigaction(pp_config.signal, &ignore, NULL) == 0;
    uint64_t mask = begin_change();
    if (ignoring++ == 0)
        libc->sigaction(pp_config.signal, &ignore, NULL);
    end_change(mask);
    return true;
}

void pp_interpose_handle_again(void)
{
    if (!is_own_process()) {
        put_ours();
        return;
    }
    uint64_t mask = begin_change();
    if (--ignoring == 0)
        put_ours();
    end_change(mask);
}

/* Go's runtime asks for the action of every signal when it is loaded, before its first goroutine runs, and its own
 * handlers have SA_ONSTACK, as few others have. */
static void look_for_go(uintptr_t caller, bool ours, const struct sigaction *action)
{
    bool alternate = action && (action->sa_flags & SA_ONSTACK);
    if (atomic_load_explicit(&on_alternate_stack, memory_order_relaxed) || !(alternate || (ours && !action)))
        return;
    if (!(alternate && ours) && !pp_go_holds(caller))
        return;
    atomic_store(&on_alternate_stack, true);
    uint64_t mask = begin_change();
    if (!ignoring)
        put_ours();
    end_change(mask);
}

PP_EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    const struct pp_real *libc = pp_real();
    if (!libc->sigaction) {
        errno = ENOSYS;
        return -1;
    }
    if (atomic_load_explicit(&pp_capture.enabled, memory_order_acquire) && is_own_process())
        look_for_go((uintptr_t)__builtin_return_address(0), signal == pp_config.signal, action);
    if (!is_ours(signal))
        return libc->sigaction(signal, action, old);
    if (!is_own_process()) {
        int result = libc->sigaction(signal, action, old);
        if (result == 0 && old && old->sa_sigaction == pp_handle_signal)
            *old = believed;
        return result;
    }
    uint64_t mask = begin_change();
    struct sigaction previous = believed;
    previous.sa_handler = (__sighandler_t)atomic_load(&pp_capture.application_handler); /* SA_RESETHAND */
    if (action) {
        believe(action);
        if (!ignoring)
            put_ours();
    }
    end_change(mask);
    if (old)
        *old = previous;
    return 0;
}

PP_EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
    const struct pp_real *libc = pp_real();
    if (is_ours(number)) {
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
        sigaction(number, &action, &old);
        return old.sa_handler;
    }
    if (libc->signal)
        return libc->signal(number, handler);
    errno = ENOSYS;
    return SIG_ERR;
}
