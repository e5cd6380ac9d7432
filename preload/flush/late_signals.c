/*
 * gunicorn sends a worker that leaves already another SIGTERM: without us it is gone by then, so it comes too late with
 * us too.
 */
#include "late_signals.h"
#include "../base/libc.h"
#include "../base/syscalls.h"
#include <signal.h>
#include <stddef.h>

#define BIT(signal) ((uint64_t)1 << ((signal)-1))
/* Not held back: what a fault of the thread itself sends, and what libc reaches every thread by (setuid). */
#define FAULTS (BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGSEGV) | BIT(SIGSYS))
#define LIBCS  (BIT(32) | BIT(33))

static uint64_t pending_here(void)
{
    uint64_t pending = 0;
    pp_syscall4(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0);
    return pending;
}

/* Of those that have come meanwhile, what would end the process in place of the end that it is at. */
static uint64_t come_too_late(uint64_t pending_before)
{
    uint64_t pending = pending_here(), late = 0;
    for (int number = 1; number <= 64; number++) {
        struct sigaction action;
        if (BIT(number) & pending & ~pending_before && pp_real()->sigaction &&
            pp_real()->sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            late |= BIT(number);
    }
    return late;
}

struct pp_late_signals pp_late_signals_hold(void)
{
    uint64_t mask = pp_sys_signal_mask(SIG_BLOCK, ~(FAULTS | LIBCS));
    return (struct pp_late_signals){mask, pending_here()};
}

void pp_late_signals_let(const struct pp_late_signals *held)
{
    pp_sys_signal_mask(SIG_SETMASK, held->mask | come_too_late(held->pending));
}
