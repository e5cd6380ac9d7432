/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps the functions that fork and that end the process. */
#include "../base/libc.h"
#include "../base/syscalls.h"
#include "../flush/lifecycle.h"
#include <errno.h>

/* Makes the child's flush thread after every atfork handler has run, when the allocator is usable again. */
PP_EXPORT pid_t fork(void)
{
    PP_REQUIRE(fork);
    pid_t pid = pp_real()->fork();
    if (pid == 0)
        pp_flush_thread_in_child();
    return pid;
}

PP_EXPORT int forkpty(int *master, char *name, const struct termios *terminal, const struct winsize *window)
{
    PP_REQUIRE(forkpty);
    int pid = pp_real()->forkpty(master, name, terminal, window);
    if (pid == 0)
        pp_flush_thread_in_child();
    return pid;
}

PP_EXPORT int daemon(int keep_directory, int keep_descriptors)
{
    PP_REQUIRE(daemon);
    pp_flush_before_exec(); /* the parent ends by libc's own _exit */
    int result = pp_real()->daemon(keep_directory, keep_descriptors);
    pp_flush_thread_in_child(); /* it may have failed after its fork */
    return result;
}

static _Noreturn void leave(int status)
{
    pp_flush_at_exit();
    if (pp_real()->_exit)
        pp_real()->_exit(status);
    for (;;)
        pp_syscall4(SYS_exit_group, status, 0, 0, 0);
}

PP_EXPORT _Noreturn void _exit(int status)
{
    leave(status);
}

PP_EXPORT _Noreturn void _Exit(int status)
{
    leave(status);
}

PP_EXPORT _Noreturn void quick_exit(int status)
{
    pp_flush_at_exit();
    if (pp_real()->quick_exit)
        pp_real()->quick_exit(status);
    leave(status);
}
