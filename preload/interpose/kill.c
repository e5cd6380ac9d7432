/*
 * Writes the profile before a signal that the program sends itself ends it: CPython does so after Ctrl-C and a fatal
 * error, uvicorn at the end of each worker.
 */
#include "../base/libc.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../flush/lifecycle.h"
#include <errno.h>
#include <stdlib.h>

/* Whether the caller blocks the signal, as programs do that take signals by sigwait or signalfd: then it does not end
 * them. */
static bool is_blocked(int number)
{
    return number > 0 && number <= 64 && pp_sys_signal_mask(SIG_BLOCK, 0) >> (number - 1) & 1;
}

/* Uses libc's sigaction, since ours hides our own signal. async-signal-safe, as kill is. */
static bool may_end_us(int number)
{
    struct sigaction action;
    switch (number) {
    case 0:
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
        return false;
    default:
        return atomic_load(&pp_capture.enabled) && pp_real()->sigaction &&
               pp_real()->sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL && !is_blocked(number);
    }
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
    if (atomic_load(&pp_capture.enabled))
        pp_flush_before_signal();
    if (pp_real()->abort)
        pp_real()->abort();
    for (;;) {
        pp_syscall4(SYS_tgkill, pp_sys_getpid(), pp_sys_gettid(), SIGABRT, 0);
        pp_syscall4(SYS_exit_group, 127, 0, 0, 0);
    }
}
