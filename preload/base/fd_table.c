/* SPDX-License-Identifier: Apache-2.0 */
#include "fd_table.h"
#include "memory_file.h"
#include "syscalls.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdatomic.h>
#include <sys/stat.h>

static bool forbidden;
static _Atomic int owner; /* tid of the thread with a table of its own */

void pp_fd_table_forbid(void)
{
    forbidden = true;
}

void pp_fd_table_begin(void)
{
    bool own = !forbidden && pp_syscall4(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE, 0) == 0;
    atomic_store(&owner, own ? pp_sys_gettid() : 0);
    if (own && pp_memory_file.used)
        pp_memory_file_open_here();
}

bool pp_fd_table_here(void)
{
    int tid = atomic_load(&owner);
    return tid && tid == pp_sys_gettid();
}

/* Docker's filter refuses pidfd_getfd. A pipe or a terminal can be opened by its name in /proc instead; a file cannot,
 * for it would have another offset than the program's. */
static int open_by_name(void)
{
    struct stat status;
    int descriptor = pp_sys_open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
    if (descriptor < 0 || (pp_syscall4(SYS_fstat, descriptor, (long)&status, 0, 0) == 0 && !S_ISREG(status.st_mode)))
        return descriptor;
    pp_sys_close(descriptor);
    return -EPERM;
}

int pp_fd_table_stderr(void)
{
    if (!pp_fd_table_here())
        return 2;
    int process = (int)pp_syscall4(SYS_pidfd_open, pp_sys_getpid(), 0, 0, 0);
    int descriptor = process < 0 ? process : (int)pp_syscall4(SYS_pidfd_getfd, process, 2, 0, 0);
    if (process >= 0)
        pp_sys_close(process);
    return descriptor < 0 && descriptor != -EBADF ? open_by_name() : descriptor;
}

void pp_fd_table_stderr_end(int descriptor)
{
    if (descriptor >= 0 && pp_fd_table_here())
        pp_sys_close(descriptor);
}
