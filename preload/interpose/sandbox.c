/*
 * What a program gives up for good, it gives up for our code too.
 * A seccomp filter may kill for whatever the program does not need, and it does not know what we need: profiling ends
 * before the program installs one. Whether a filter that is there before the program kills is tried in a child.
 * Capabilities, privileges and namespaces are a thread's own: the flush thread of a program of one thread ends before
 * that changes its own, and is made again by it, with what is left.
 */
#include "sandbox.h"
#include "../base/fd_table.h"
#include "../base/lock.h"
#include "../base/message.h"
#include "../base/proc_file.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../flush/lifecycle.h"
#include "../threads/registry.h"
#include "threads.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define STATUS_MAX               4096
#define HANDLERS_NS              1000000000u /* at most, for handlers that are at work */
#define POLL_NS                  1000000
#define LANDLOCK_RESTRICT_SELF   446
#define SYSCALL_USER_DISPATCH    59 /* of prctl */
#define SYSCALL_USER_DISPATCH_ON 1

/* All that our code and pthread_create call, but for what every program needs. */
/* clang-format off */
static const short calls[] = {
    SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_delete, SYS_clock_gettime, SYS_clock_getres,
    SYS_nanosleep, SYS_gettid, SYS_getpid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getrusage, SYS_prctl,
    SYS_process_vm_readv, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_rt_sigpending,
    SYS_rt_tgsigqueueinfo, SYS_tgkill, SYS_futex, SYS_openat, SYS_read, SYS_write, SYS_poll,
    SYS_pread64, SYS_lseek, SYS_close, SYS_fcntl, SYS_fstat, SYS_fstatfs, SYS_lstat, SYS_unlinkat, SYS_arch_prctl,
    SYS_stat, SYS_newfstatat, SYS_readlink, SYS_readlinkat, SYS_getdents64, SYS_getcwd, SYS_mkdirat, SYS_unlink,
    SYS_ftruncate, SYS_mmap, SYS_mremap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_prlimit64, SYS_uname, SYS_getrandom, SYS_clone3, SYS_set_robust_list, SYS_rseq,
};
/* clang-format on */

/* And those of which a filter may permit some uses only. */
static const struct {
    long number, arguments[4];
} uses[] = {
    {SYS_openat, {-1, 0, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0}},
    {SYS_openat, {-1, 0, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600}},
    {SYS_openat, {-1, 0, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0}},
    {SYS_openat, {-1, 0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0}},
    {SYS_mmap, {0, 0, PP_PROT_READ_WRITE, PP_MAP_PRIVATE_ANONYMOUS}},
    {SYS_mprotect, {1, 0, PP_PROT_READ_WRITE, 0}},
    {SYS_madvise, {1, 0, MADV_DONTNEED, 0}},
    {SYS_prctl, {PR_SET_NAME, 0, 0, 0}},
};

static _Atomic bool silent;
static struct pp_lock ending; /* profiling, by a thread that installs a filter */

bool pp_sandbox_silent(void)
{
    return atomic_load_explicit(&silent, memory_order_relaxed);
}

/* In the child: system calls only, it has the caller's TLS. Killed, it dies without its handlers, as all signals are
 * blocked, and without a core, which would be the program's memory in a file. The arguments are no good, so nothing
 * comes of the calls; a filter sees them all the same. */
static _Noreturn void try_calls(bool own_descriptors)
{
    pp_syscall4(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        pp_syscall6(calls[i], -1, 0, 0, 0, -1, 0);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        const long *a = uses[i].arguments;
        pp_syscall6(uses[i].number, a[0], a[1], a[2], a[3], -1, 0);
    }
    if (own_descriptors)
        pp_fd_table_try();
    for (;;) {
        pp_syscall4(SYS_exit, 0, 0, 0, 0);
        pp_syscall4(SYS_exit_group, 0, 0, 0, 0);
    }
}

/* Whether the child lives, or there can be none. It has memory of its own: kernels before 5.16 kill whatever shares
 * that of a process which dies with a core. Its end sends no signal. */
static bool lives(bool own_descriptors)
{
    uint64_t mask = pp_sys_signal_mask(SIG_SETMASK, UINT64_MAX);
    int status = 0, pid = (int)pp_syscall6(SYS_clone, CLONE_VFORK, 0, 0, 0, 0, 0);
    if (pid == 0)
        try_calls(own_descriptors);
    bool waited = pid > 0 && pp_syscall4(SYS_wait4, pid, (long)&status, __WALL, 0) == pid;
    pp_sys_signal_mask(SIG_SETMASK, mask);
    return !waited || status == 0;
}

bool pp_sandbox_forbids(void)
{
    char text[STATUS_MAX];
    text[pp_read_file("/proc/self/status", text, sizeof text - 1)] = 0;
    const char *mode = strstr(text, "\nSeccomp:\t");
    if (!mode || mode[10] != '2' || lives(true))
        return false;
    pp_fd_table_forbid();
    if (lives(false))
        return false;
    atomic_store(&silent, true);
    pp_warn_once(PP_CAUSE_SANDBOX, "a seccomp filter would kill this process for being profiled: it is not profiled");
    return true;
}

/* Everything is written; no timer, no thread, no handler and no lock of ours is left, and what we stand in front of
 * passes through. A filter may be for all threads: each that installs one waits until this is so. */
static void end_profiling(void)
{
    static const struct timespec pause = {0, POLL_NS};
    if (!pp_process_is_profiled())
        return;
    pp_lock_take(&ending);
    if (atomic_load(&pp_capture.enabled)) {
        pp_warn_once(PP_CAUSE_SANDBOX, "the program installs a seccomp filter: profiling ends here");
        pp_flush_to_the_end();
        atomic_store(&pp_capture.enabled, 0);
        const struct pp_slot *slot = pp_slot_here();
        if (slot && slot->believes_blocked) /* no slot will tell from here on */
            pp_sys_signal_mask(SIG_BLOCK, (uint64_t)1 << (slot->own_signal - 1));
        pp_interpose_stop();
        atomic_store(&silent, true);
        pp_each_slot(pp_timer_disarm);
        uint64_t start = pp_sys_clock_ns(CLOCK_MONOTONIC);
        do /* one that has just begun is not seen yet */
            pp_syscall4(SYS_nanosleep, (long)&pause, 0, 0, 0);
        while (!pp_handlers_quiet() && pp_sys_clock_ns(CLOCK_MONOTONIC) - start < HANDLERS_NS);
    }
    pp_lock_drop(&ending);
}

void pp_sandbox_after_fork(void)
{
    pp_lock_reset(&ending);
}

/* Without a filter they only ask. libseccomp asks with flags for strict mode, which always fails. */
static bool installs_filter(long number, long a, long b, long c)
{
    if (number == SYS_prctl)
        return a == PR_SET_SECCOMP && (b == SECCOMP_MODE_STRICT || c);
    return number == SYS_seccomp && ((a == SECCOMP_SET_MODE_STRICT && !b && !c) || (a == SECCOMP_SET_MODE_FILTER && c));
}

/* Of calls in pp_confining_calls. In a program of several threads the others keep what they have, and so does ours. */
static bool confines(long number, long a)
{
    /* after which the kernel makes no thread any more, and without a user namespace it refuses none */
    if (number == SYS_unshare && a & CLONE_NEWPID && !(a & CLONE_NEWUSER))
        return false;
    if (number == SYS_prctl &&
        (a != PR_SET_NO_NEW_PRIVS && a != PR_CAPBSET_DROP && a != PR_CAP_AMBIENT && a != PR_SET_SECUREBITS))
        return false;
    return number != SYS_seccomp && (number != SYS_keyctl || a == KEYCTL_JOIN_SESSION_KEYRING) &&
           !pp_other_threads(false);
}

/* Before such a call, by the thread that makes it: whether the flush thread has been stopped for it. */
static bool prepare(long number, long a, long b, long c)
{
    if (installs_filter(number, a, b, c))
        end_profiling();
    if (!atomic_load(&pp_capture.enabled))
        return false;
    if (number == SYS_prctl && a == SYSCALL_USER_DISPATCH && b == SYSCALL_USER_DISPATCH_ON)
        pp_thread_never_arm(); /* the handler's system calls would be signals that it blocks */
    if (!confines(number, a))
        return false;
    /* the thread may not be able to write any more, or may not be made again: after unshare of a pid namespace */
    if (number == LANDLOCK_RESTRICT_SELF || number == SYS_unshare || number == SYS_setns)
        pp_flush_before_signal();
    return pp_flush_thread_stop();
}

static void resume(bool stopped)
{
    int error = errno;
    if (stopped)
        pp_flush_thread_in_child();
    errno = error;
}

PP_EXPORT int prctl(int option, ...)
{
    const struct pp_real *libc = pp_real();
    va_list list;
    va_start(list, option);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long);
    va_end(list);
    if (!libc->prctl) {
        errno = ENOSYS;
        return -1;
    }
    bool stopped = prepare(SYS_prctl, option, a, b);
    int result = libc->prctl(option, a, b, c, d);
    resume(stopped);
    return result;
}

/* Calls one of libc's functions of two arguments or less. */
#define CONFINE(name, first, ...)                                                                                      \
    do {                                                                                                               \
        if (!pp_real()->name) {                                                                                        \
            errno = ENOSYS;                                                                                            \
            return -1;                                                                                                 \
        }                                                                                                              \
        bool stopped = prepare(SYS_##name, (long)(first), 0, 0);                                                       \
        int result = pp_real()->name(__VA_ARGS__);                                                                     \
        resume(stopped);                                                                                               \
        return result;                                                                                                 \
    } while (0)

PP_EXPORT int capset(void *header, const void *data)
{
    CONFINE(capset, 0, header, data);
}

/* The kernel refuses user and other namespaces to a process with threads: one of one thread has one meanwhile. */
PP_EXPORT int unshare(int flags)
{
    CONFINE(unshare, flags, flags);
}

PP_EXPORT int setns(int fd, int type)
{
    CONFINE(setns, fd, fd, type);
}

/* Before pp_real() has been there: another library's constructor may come before ours. */
static long plain_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long result = pp_syscall6(number, a, b, c, d, e, f);
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

long (*pp_real_syscall)(long, long, long, long, long, long, long) = plain_syscall;

#define BIT(number) ((uint64_t)1 << (number) % 64)

/* What prepare() wants to see: a bit for each number of a system call. */
extern const uint64_t pp_confining_calls[8];
const uint64_t pp_confining_calls[8] = {
    [1] = BIT(SYS_setuid) | BIT(SYS_setgid) | BIT(SYS_setreuid) | BIT(SYS_setregid) | BIT(SYS_setgroups) |
          BIT(SYS_setresuid) | BIT(SYS_setresgid) | BIT(SYS_capset),
    [2] = BIT(SYS_prctl),
    [3] = BIT(SYS_keyctl),
    [4] = BIT(SYS_unshare) | BIT(SYS_setns) | BIT(SYS_seccomp),
    [6] = BIT(LANDLOCK_RESTRICT_SELF),
};

long pp_confining_call(long number, long a, long b, long c, long d, long e, long f);
long pp_confining_call(long number, long a, long b, long c, long d, long e, long f)
{
    bool stopped = prepare(number, a, b, c);
    long result = pp_real_syscall(number, a, b, c, d, e, f);
    resume(stopped);
    return result;
}

/* Jumps, not calls: what comes back may have another stack. */
__asm__(".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "  cmp $512, %rdi\n" /* 8 * 64 */
        "  jae 1f\n"
        "  bt %rdi, pp_confining_calls(%rip)\n"
        "  jc pp_confining_call\n"
        "1:\n"
        "  jmp *pp_real_syscall(%rip)\n"
        ".cfi_endproc\n"
        ".size syscall, . - syscall\n");
