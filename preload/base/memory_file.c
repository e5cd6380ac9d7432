/* SPDX-License-Identifier: Apache-2.0 */
/* Its code runs in handlers, too, and keeps their rules (tests/capture_symbols.sh). */
#include "memory_file.h"
#include "process.h"
#include "syscalls.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define NUMBER     512 /* the program has fewer descriptors, mostly; the kernel's table of 1,024 takes 8 KiB */
#define FEWEST_MAX 256 /* with fewer in all, the program may want each: none is taken */

struct pp_memory_file pp_memory_file = {.number = -1};
static bool ended;

/* Returns a descriptor of it from `least` on. -errno: there is no /proc, the program has dropped the right to read its
 * own memory, or all numbers are taken. */
static int open_from(int least)
{
    int low = pp_sys_open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
    if (low < 0 || low >= least) /* all others are taken: there may be no second */
        return low;
    int number = (int)pp_syscall4(SYS_fcntl, low, F_DUPFD_CLOEXEC, least, 0);
    pp_sys_close(low);
    return number;
}

static void open_file(void)
{
    struct rlimit limit = {2 * NUMBER, 2 * NUMBER};
    struct stat status;
    pp_syscall4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit);
    int number = limit.rlim_cur < FEWEST_MAX
                     ? -EMFILE
                     : open_from(limit.rlim_cur < 2 * NUMBER ? (int)limit.rlim_cur / 2 : NUMBER);
    pp_memory_file.number = number;
    if (number < 0 || pp_syscall4(SYS_fstat, number, (long)&status, 0, 0) != 0)
        return;
    pp_memory_file.device = status.st_dev;
    pp_memory_file.inode = status.st_ino;
}

/* async-signal-safe. */
static bool is_the_file(void)
{
    struct stat status;
    return pp_memory_file.number >= 0 && pp_syscall4(SYS_fstat, pp_memory_file.number, (long)&status, 0, 0) == 0 &&
           status.st_ino == pp_memory_file.inode && status.st_dev == pp_memory_file.device;
}

void pp_memory_file_begin(void)
{
    pp_memory_file.used = true;
    open_file();
}

static void close_file(void)
{
    if (is_the_file())
        pp_sys_close(pp_memory_file.number);
    pp_memory_file.number = -1;
}

void pp_memory_file_end(void)
{
    close_file();
    ended = true;
}

void pp_memory_file_open_here(void)
{
    int number = pp_memory_file.number >= 0 ? open_from(pp_memory_file.number) : -EBADF;
    if (number >= 0 && number != pp_memory_file.number)
        pp_sys_close(number);
}

void pp_memory_file_after_fork(void)
{
    if (!pp_memory_file.used || ended)
        return;
    close_file();
    atomic_store(&pp_memory_file.missed, false);
    open_file();
}

bool pp_memory_file_is_open(void)
{
    /* of the child of a bare clone the file is another process */
    return pp_process_is_profiled() && is_the_file();
}

/* Copies until something is not there; returns the bytes copied. async-signal-safe. */
static long copy(const struct iovec *to, unsigned to_count, const struct iovec *from, unsigned from_count)
{
    long copied = 0, part;
    size_t to_done = 0, from_done = 0;
    for (unsigned i = 0, j = 0; i < to_count && j < from_count;) {
        size_t to_left = to[i].iov_len - to_done, from_left = from[j].iov_len - from_done;
        size_t size = to_left < from_left ? to_left : from_left;
        part = pp_sys_pread(pp_memory_file.number, (char *)to[i].iov_base + to_done, size,
                            (uintptr_t)from[j].iov_base + from_done);
        copied += part > 0 ? part : 0;
        if (part != (long)size)
            break;
        to_done = size < to_left ? to_done + size : (i++, 0);
        from_done = size < from_left ? from_done + size : (j++, 0);
    }
    return copied;
}

long pp_memory_file_copy(const struct iovec *to, unsigned to_count, const struct iovec *from, unsigned from_count)
{
    if (!pp_memory_file_is_open())
        return -EPERM;
    long copied = copy(to, to_count, from, from_count);
    if (!is_the_file())
        return -EPERM;
    return copied ? copied : -EFAULT;
}
