/*
 * The action of our signal. The application may set and ask for one as if we were not there; our handler stays in place
 * and passes on what is not ours (capture/handler.c). SIG_DFL is never really put back: a tick that is already on its
 * way would end the process.
 */
#include "capture/capture.h"
#include "config.h"
#include "interpose.h"
#include "lock.h"
#include <errno.h>
#include <string.h>

static struct pp_lock changing;
static struct sigaction believed; /* what the application set last */

static void install_ours(struct sigaction *action)
{
    memset(action, 0, sizeof *action);
    action->sa_sigaction = pp_handle_signal;
    action->sa_flags = SA_SIGINFO | SA_RESTART;
    /* all signals: an application's handler on top of ours could siglongjmp away and leave a sample half done */
    memset(&action->sa_mask, 0xff, sizeof action->sa_mask);
}

static void believe(const struct sigaction *action)
{
    believed = *action;
    atomic_store(&pp_capture.application_siginfo, (action->sa_flags & SA_SIGINFO) != 0);
    atomic_store(&pp_capture.application_handler, (uintptr_t)action->sa_handler);
}

bool pp_interpose_install_handler(void)
{
    const struct pp_real *libc = pp_real();
    struct sigaction ours, before;
    install_ours(&ours);
    if (!libc->sigaction || libc->sigaction(pp_config.signal, &ours, &before) != 0)
        return false;
    believe(&before);
    return true;
}

void pp_interpose_action_after_fork(void)
{
    pp_lock_reset(&changing);
}

static bool is_ours(int signal)
{
    return atomic_load_explicit(&pp_capture.enabled, memory_order_acquire) && signal == pp_config.signal;
}

PP_EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    const struct pp_real *libc = pp_real();
    if (!libc->sigaction) {
        errno = ENOSYS;
        return -1;
    }
    if (!is_ours(signal))
        return libc->sigaction(signal, action, old);
    /* sigaction is allowed in handlers: none may run on top of the lock */
    uint64_t mask = pp_sys_signal_mask(SIG_SETMASK, UINT64_MAX);
    pp_lock_take(&changing);
    struct sigaction previous = believed;
    if (action)
        believe(action);
    pp_lock_drop(&changing);
    pp_sys_signal_mask(SIG_SETMASK, mask);
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
