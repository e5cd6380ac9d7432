/* SPDX-License-Identifier: Apache-2.0 */
#include "filter_trial.h"
#include "config.h"
#include "fd_table.h"
#include "memory_file.h"
#include "message.h"
#include "proc_file.h"
#include "process.h"
#include "syscalls.h"
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define STATUS_MAX      4096
#define OWN_TABLE_CALLS 9  /* the last of `uses` */
#define EVENT_CALLS     6  /* and the last of these */
#define SET_SIGNAL      10 /* F_SETSIG */
#define SET_OWNER       15 /* F_SETOWN_EX */

/* The system calls of our code and pthread_create, except those that every program needs. */
/* clang-format off */
static const short calls[] = {
    SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_delete, SYS_clock_gettime, SYS_clock_getres,
    SYS_nanosleep, SYS_gettid, SYS_getpid, SYS_getppid, SYS_getpgid, SYS_getuid, SYS_geteuid, SYS_getrusage, SYS_prctl,
    SYS_process_vm_readv, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_rt_sigpending,
    SYS_rt_tgsigqueueinfo, SYS_tgkill, SYS_futex, SYS_openat, SYS_read, SYS_write,
    SYS_pread64, SYS_lseek, SYS_close, SYS_fcntl, SYS_fstat, SYS_fstatfs, SYS_unlinkat,
    SYS_newfstatat, SYS_readlinkat, SYS_getdents64, SYS_getcwd, SYS_mkdirat,
    SYS_ftruncate, SYS_mmap, SYS_mremap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_prlimit64, SYS_uname, SYS_getrandom, SYS_clone3, SYS_set_robust_list, SYS_rseq,
    PP_THREAD_POINTER_CALLS
};
/* clang-format on */

/* Calls that a filter may permit with some arguments only. */
static const struct {
    long number, arguments[4];
} uses[] = {
    {SYS_ppoll, {0, 0, -1, 0}}, /* without a time it would wait for ever */
    {SYS_openat, {-1, 0, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0}},
    {SYS_openat, {-1, 0, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600}},
    {SYS_openat, {-1, 0, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0}},
    {SYS_openat, {-1, 0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0}},
    {SYS_mmap, {0, 0, PP_PROT_READ_WRITE, PP_MAP_PRIVATE_ANONYMOUS}},
    {SYS_mprotect, {1, 0, PP_PROT_READ_WRITE, 0}},
    {SYS_madvise, {1, 0, MADV_DONTNEED, 0}},
    {SYS_prctl, {PR_SET_NAME, 0, 0, 0}},
    {SYS_fcntl, {-1, F_DUPFD_CLOEXEC, 0, 0}},
    /* for a descriptor table of our own */
    {SYS_close_range, {UINT_MAX, 0, CLOSE_RANGE_UNSHARE, 0}},
    {SYS_pidfd_open, {-1, 0, 0, 0}},
    {SYS_pidfd_getfd, {-1, 0, 0, 0}},
    /* for perf events */
    {SYS_perf_event_open, {0, -1, -1, -1}},
    {SYS_ioctl, {-1, PERF_EVENT_IOC_ENABLE, 0, 0}},
    {SYS_ioctl, {-1, PERF_EVENT_IOC_PERIOD, 0, 0}},
    {SYS_fcntl, {-1, SET_OWNER, 0, 0}},
    {SYS_fcntl, {-1, SET_SIGNAL, 0, 0}},
    {SYS_fcntl, {-1, F_SETFL, O_ASYNC, 0}},
};

/* Runs in the child and makes system calls only: the caller's TLS is shared. All signals are blocked, so no handler
 * runs when it is killed; it leaves no core file. The arguments are invalid, so the calls do nothing, but a filter sees
 * them. */
static _Noreturn void try_calls(bool own_descriptors, bool copies)
{
    pp_syscall4(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (copies || calls[i] != SYS_process_vm_readv)
            pp_syscall6(calls[i], -1, 0, 0, 0, -1, 0);
    size_t count = sizeof uses / sizeof *uses, skipped = pp_config.clock == PP_CLOCK_TICK ? EVENT_CALLS : 0;
    for (size_t i = 0; i < count - (own_descriptors ? skipped : OWN_TABLE_CALLS); i++) {
        const long *a = uses[i].arguments;
        pp_syscall6(uses[i].number, a[0], a[1], a[2], a[3], -1, 0);
    }
    for (;;) {
        pp_syscall4(SYS_exit, 0, 0, 0, 0);
        pp_syscall4(SYS_exit_group, 0, 0, 0, 0);
    }
}

/* Whether the child survives, or none can be made. It does not share memory: kernels before 5.16 kill every process
 * that shares that of a process which dumps core. Its end sends no signal. */
static bool lives(bool own_descriptors, bool copies)
{
    uint64_t mask = pp_sys_signal_mask(SIG_SETMASK, UINT64_MAX);
    int status = 0, pid = (int)pp_syscall6(SYS_clone, CLONE_VFORK, 0, 0, 0, 0, 0);
    if (pid == 0)
        try_calls(own_descriptors, copies);
    bool waited = pid > 0 && pp_syscall4(SYS_wait4, pid, (long)&status, __WALL, 0) == pid;
    pp_sys_signal_mask(SIG_SETMASK, mask);
    return !waited || status == 0;
}

bool pp_filter_forbids(void)
{
    char text[STATUS_MAX];
    text[pp_read_file("/proc/self/status", text, sizeof text - 1)] = 0;
    const char *mode = strstr(text, "\nSeccomp:\t");
    if (!mode || mode[10] != '2')
        return false;
    for (int without = 0; without < 4; without++) {
        bool own_descriptors = !(without & 1), copies = !(without & 2);
        if (!lives(own_descriptors, copies))
            continue;
        if (!own_descriptors)
            pp_fd_table_forbid();
        if (!copies)
            pp_memory_file_begin();
        return false;
    }
    atomic_store(&pp_process.silent, true);
    pp_warn_once(PP_CAUSE_SANDBOX, "a seccomp filter would kill this process for being profiled: it is not profiled");
    return true;
}
