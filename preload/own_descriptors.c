#include "own_descriptors.h"
#include "read_file.h"
#include "syscalls.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define STATUS_MAX 4096

static _Atomic int owner;         /* tid of the thread with a table of its own */
static _Atomic int tried_filters; /* so many seccomp filters were tried, and none kills */

/* Of the calling thread; -1: unknown. */
static int count_filters(void)
{
    char text[STATUS_MAX];
    text[pp_read_task_file(pp_sys_gettid(), "status", text, sizeof text - 1)] = 0;
    static const char key[] = "\nSeccomp_filters:\t";
    const char *line = strstr(text, key);
    if (!line)
        return -1;
    int count = 0;
    for (line += sizeof key - 1; *line >= '0' && *line <= '9'; line++)
        count = count * 10 + (*line - '0');
    return count;
}

/* Whether a filter may kill for what is new to it. */
static bool filtered(void)
{
    if (pp_syscall4(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0) == 0)
        return false;
    int tried = atomic_load(&tried_filters);
    return !tried || count_filters() != tried;
}

void pp_own_descriptors_try(void)
{
    pp_syscall4(SYS_close_range, UINT_MAX, 0, CLOSE_RANGE_UNSHARE, 0);
    pp_syscall4(SYS_pidfd_open, -1, 0, 0, 0);
    pp_syscall4(SYS_pidfd_getfd, -1, 0, 0, 0);
}

void pp_own_descriptors_tried(void)
{
    int count = count_filters();
    atomic_store(&tried_filters, count > 0 ? count : 0);
}

/* By the instructions that do nothing elsewhere (valgrind.h). It complains of system calls that it does not know, and
 * keeps a list of its own of what is open. */
static bool under_valgrind(void)
{
    uint64_t request[6] = {0x1001 /* RUNNING_ON_VALGRIND */}, answer = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(request)
                     : "cc", "memory");
    return answer != 0;
}

void pp_own_descriptors_begin(void)
{
    if (under_valgrind() || filtered() || pp_syscall4(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE, 0) != 0)
        return;
    atomic_store(&owner, pp_sys_gettid());
}

bool pp_own_descriptors_there(void)
{
    return atomic_load(&owner) != 0;
}

void pp_own_descriptors_end(void)
{
    atomic_store(&owner, 0);
}

static bool here(void)
{
    int tid = atomic_load(&owner);
    return tid && tid == pp_sys_gettid();
}

/* Docker's filter refuses pidfd_getfd. Of a pipe or a terminal its name in /proc does as well; a file would be written
 * at another place than where the program is. */
static int open_by_name(int number)
{
    char path[] = "/proc/self/fd/?";
    struct stat status;
    path[sizeof path - 2] = (char)('0' + number);
    int descriptor = pp_sys_open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
    if (descriptor < 0 || (pp_syscall4(SYS_fstat, descriptor, (long)&status, 0, 0) == 0 && !S_ISREG(status.st_mode)))
        return descriptor;
    pp_sys_close(descriptor);
    return -EPERM;
}

int pp_program_descriptor(int number)
{
    if (!here())
        return number;
    if (filtered())
        return -EPERM;
    int process = (int)pp_syscall4(SYS_pidfd_open, pp_sys_getpid(), 0, 0, 0);
    int descriptor = process < 0 ? process : (int)pp_syscall4(SYS_pidfd_getfd, process, number, 0, 0);
    if (process >= 0)
        pp_sys_close(process);
    return descriptor < 0 && descriptor != -EBADF ? open_by_name(number) : descriptor;
}

void pp_program_descriptor_end(int descriptor)
{
    if (descriptor >= 0 && here())
        pp_sys_close(descriptor);
}
