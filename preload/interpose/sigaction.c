/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps the functions that set signal actions; what they do to our signal is in threads/signal.h. */
#include "../base/libc.h"
#include "../base/process.h"
#include "../capture/capture.h"
#include "../handler/handler.h"
#include "../threads/signal.h"
#include <errno.h>

PP_EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction previous;
    PP_REQUIRE(sigaction);
    if (pp_is_enabled() && pp_process_is_profiled())
        pp_signal_check_go((uintptr_t)__builtin_return_address(0), pp_signal_is_ours(signal), action);
    while (!pp_signal_pass(signal, action ? action->sa_handler : SIG_DFL))
        if (pp_signal_answer(signal, action, &previous)) {
            if (old)
                *old = previous;
            return 0;
        }
    int result = pp_real()->sigaction(signal, action, old);
    pp_signal_passed();
    if (result == 0 && old && old->sa_sigaction == pp_handle_signal) /* in the child of vfork */
        *old = pp_signal_believed();
    return result;
}

PP_EXPORT int __sigaction(int signal, const struct sigaction *action, struct sigaction *old)
    __attribute__((alias("sigaction"), nothrow, leaf));

static __sighandler_t set_handler(int signal, __sighandler_t handler, int flags, bool masks_itself)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    if (handler == SIG_ERR || signal < 1 || signal > 64) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (masks_itself)
        action.sa_mask.__val[0] = (uint64_t)1 << (signal - 1);
    return sigaction(signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

/* Other signals go to libc's own: it knows by siginterrupt whether they restart calls. */
PP_EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
    if (!pp_real()->signal || !pp_signal_pass(number, handler))
        return set_handler(number, handler, SA_RESTART, true);
    __sighandler_t before = pp_real()->signal(number, handler);
    pp_signal_passed();
    return before;
}

PP_EXPORT __sighandler_t bsd_signal(int number, __sighandler_t handler) __attribute__((alias("signal"), nothrow, leaf));
PP_EXPORT __sighandler_t ssignal(int number, __sighandler_t handler) __attribute__((alias("signal"), nothrow, leaf));

/* This is `signal` in a program compiled with -std=c11 or for POSIX. */
PP_EXPORT __sighandler_t __sysv_signal(int number, __sighandler_t handler)
{
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER | SA_INTERRUPT, false);
}

PP_EXPORT __sighandler_t sysv_signal(int number, __sighandler_t handler)
    __attribute__((alias("__sysv_signal"), nothrow, leaf));

PP_EXPORT int sigignore(int number)
{
    return set_handler(number, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

PP_EXPORT __sighandler_t sigset(int number, __sighandler_t handler)
{
    sigset_t before;
    struct sigaction now;
    bool hold = handler == SIG_HOLD;
    if (hold ? sigaction(number, NULL, &now) != 0
             : (now.sa_handler = set_handler(number, handler, 0, false)) == SIG_ERR)
        return SIG_ERR;
    sigset_t set = {{(uint64_t)1 << (number - 1)}};
    if (sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, &before) != 0)
        return SIG_ERR;
    return before.__val[0] & set.__val[0] ? SIG_HOLD : now.sa_handler;
}
