/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the profile before a signal that the program sends itself ends it: CPython does so after Ctrl-C and a fatal
 * error, uvicorn at the end of each worker. */
#include "../base/libc.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../flush/lifecycle.h"
#include <errno.h>
#include <stdlib.h>

#define BIT(signal) ((uint64_t)1 << ((signal)-1))
/* Signals whose default action does not end a process. */
#define HARMLESS                                                                                                       \
    (BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) |          \
     BIT(SIGTTOU))

/* Uses libc's sigaction, since ours hides our own signal. A signal that the caller blocks does not end it: programs
 * take signals by sigwait or signalfd. async-signal-safe, as kill is. */
static bool may_end_us(int number)
{
    struct sigaction action;
    return number > 0 && number <= 64 && !(HARMLESS & BIT(number)) && pp_is_enabled() && pp_real()->sigaction &&
           pp_real()->sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
           !(pp_sys_signal_mask(SIG_BLOCK, 0) & BIT(number));
}

static void write_before(int number)
{
    int before = errno;
    if (may_end_us(number))
        pp_flush_before_signal();
    errno = before;
}

PP_EXPORT int kill(pid_t pid, int number)
{
    PP_REQUIRE(kill);
    if (pid == 0 || pid == pp_sys_getpid())
        write_before(number);
    return pp_real()->kill(pid, number);
}

PP_EXPORT int raise(int number)
{
    PP_REQUIRE(raise);
    write_before(number);
    return pp_real()->raise(number);
}

/* Not called by libc itself, as for a broken heap: it calls its own. */
PP_EXPORT _Noreturn void abort(void)
{
    if (pp_is_enabled())
        pp_flush_before_signal();
    if (pp_real()->abort)
        pp_real()->abort();
    for (;;) {
        pp_syscall4(SYS_tgkill, pp_sys_getpid(), pp_sys_gettid(), SIGABRT, 0);
        pp_syscall4(SYS_exit_group, 127, 0, 0, 0);
    }
}
