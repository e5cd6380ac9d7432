/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"
#include "syscalls.h"
#include <string.h>
#include <sys/resource.h>

#define WIPE_ON_FORK 18 /* MADV_WIPEONFORK, Linux 4.14 */

struct pp_process pp_process;

void pp_process_begins(void)
{
    if (!pp_process.mark) {
        void *page = pp_sys_mmap_anonymous(pp_page_size());
        if (page && pp_syscall4(SYS_madvise, (long)page, pp_page_size(), WIPE_ON_FORK, 0) == 0)
            pp_process.mark = page;
        else if (page)
            pp_sys_munmap(page, pp_page_size());
    }
    atomic_store(&pp_process.pid, pp_sys_getpid());
    if (pp_process.mark)
        atomic_store(pp_process.mark, 1);
}

int pp_process_own_pid(void)
{
    /* the child of vfork has its parent's memory */
    return pp_process.mark && atomic_load(pp_process.mark) ? atomic_load(&pp_process.pid) : pp_sys_getpid();
}

static uint64_t ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

uint64_t pp_children_cpu_ns(void)
{
    struct rusage usage;
    bool known = pp_syscall4(SYS_getrusage, RUSAGE_CHILDREN, (long)&usage, 0, 0) == 0;
    return known ? ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime) : 0;
}

void pp_process_after_fork(void)
{
    memset(&pp_process.start, 0, sizeof pp_process.start);
    pp_process.start.unix_ns = pp_sys_clock_ns(CLOCK_REALTIME);
    pp_process.start.monotonic_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    pp_lock_reset(&pp_process.ending);
    atomic_store(&pp_process.main_ended, false);
    atomic_store(&pp_process.main_watched, false);
    pp_process_begins();
}
