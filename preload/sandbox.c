/*
 * A program may put itself under a seccomp filter that kills it for whatever it does not need: and it does not know
 * what we need. So a child tries first: it puts itself under the same filter, makes our system calls, and lives or does
 * not. If it dies, profiling ends before the program gets its filter.
 */
#include "sandbox.h"
#include "capture/capture.h"
#include "flush/flush.h"
#include "interpose.h"
#include "own_descriptors.h"
#include "process.h"
#include "read_file.h"
#include "say.h"
#include "syscalls.h"
#include "threads.h"
#include "timers.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define STATUS_MAX  4096
#define ENDING_NS   3000000000u /* a thread waits at most so long for another one that ends profiling */
#define HANDLERS_NS 1000000000u /* and for handlers that are at work */
#define LOOK_NS     1000000u

#define WOULD_KILL "the program installs a seccomp filter that would kill it for being profiled: profiling ends here"
#define MAY_KILL                                                                                                       \
    "the program installs a seccomp filter, and no child can be made to try whether it kills: profiling ends here"

/* All that our code and pthread_create call, but for those that every program needs: some with arguments that are no
 * good, a filter sees them all the same. */
static const short calls[] = {
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_gettime,
    SYS_timer_delete,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettid,
    SYS_getpid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getrusage,
    SYS_process_vm_readv,
    SYS_rt_sigprocmask,
    SYS_rt_sigaction,
    SYS_rt_sigpending,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_rt_sigtimedwait,
    SYS_tgkill,
    SYS_futex,
    SYS_openat,
    SYS_read,
    SYS_write,
    SYS_poll,
    SYS_pread64,
    SYS_lseek,
    SYS_close,
    SYS_fcntl,
    SYS_fstat,
    SYS_fstatfs,
    SYS_lstat,
    SYS_unlinkat,
    SYS_arch_prctl,
    SYS_stat,
    SYS_newfstatat,
    SYS_readlink,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_mkdirat,
    SYS_unlink,
    SYS_ftruncate,
    SYS_memfd_create,
    SYS_mmap,
    SYS_mremap,
    SYS_munmap,
    SYS_mprotect,
    SYS_madvise,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_prlimit64,
    SYS_uname,
    SYS_getrandom,
    SYS_clone3,
    SYS_set_robust_list,
    SYS_rseq,
};

/* And those of which a filter may permit some uses only: as we use them, but that nothing comes of it. */
static const struct {
    long number, arguments[4];
} uses[] = {
    {SYS_openat, {-1, 0, O_RDONLY | O_CLOEXEC, 0}},
    {SYS_openat, {-1, 0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0}},
    {SYS_openat, {-1, 0, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0}},
    {SYS_openat, {-1, 0, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0}},
    {SYS_openat, {-1, 0, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0}},
    {SYS_openat, {-1, 0, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0}},
    {SYS_openat, {-1, 0, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600}},
    {SYS_mmap, {0, 0, PP_PROT_READ_WRITE, PP_MAP_PRIVATE_ANONYMOUS}},
    {SYS_mmap, {0, 0, PROT_NONE, PP_MAP_PRIVATE_ANONYMOUS | MAP_STACK}}, /* pthread_create's stack, and its guard */
    {SYS_mprotect, {1, 0, PP_PROT_READ_WRITE, 0}},
    {SYS_madvise, {1, 0, MADV_DONTNEED, 0}},
    {SYS_fcntl, {-1, F_GETFD, 0, 0}},
    {SYS_fcntl, {-1, F_GETFL, 0, 0}},
    {SYS_prctl, {PR_GET_NAME, 0, 0, 0}},
    {SYS_prctl, {PR_GET_SECCOMP, 0, 0, 0}},
    {SYS_prctl, {PR_SET_NAME, 0, 0, 0}},
};

struct attempt {
    long number; /* of the call that installs the filter, 0: it is there */
    long arguments[5];
    bool own_descriptors; /* what can be done without, too */
};

enum fate { LIVES, DIES, NO_CHILD /* limits of processes or memory, or a filter that is there refuses clone */ };

static _Atomic bool silent, ending, ended;

bool pp_sandbox_silent(void)
{
    return atomic_load_explicit(&silent, memory_order_relaxed);
}

/* In the child: system calls only, it has the caller's TLS. Killed, it dies without its handlers, as all signals are
 * blocked, and without a core, which would be the program's memory in a file. */
static _Noreturn void try_calls(const struct attempt *attempt)
{
    const long *a = attempt->arguments;
    pp_syscall4(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0);
    /* if it fails it will fail for the program too */
    if (!attempt->number || pp_syscall6(attempt->number, a[0], a[1], a[2], a[3], a[4], 0) >= 0) {
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            pp_syscall6(calls[i], -1, 0, 0, 0, -1, 0);
        for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
            a = uses[i].arguments;
            pp_syscall6(uses[i].number, a[0], a[1], a[2], a[3], -1, 0);
        }
        if (attempt->own_descriptors)
            pp_own_descriptors_try();
    }
    for (;;) {
        pp_syscall4(SYS_exit, 0, 0, 0, 0);
        pp_syscall4(SYS_exit_group, 0, 0, 0, 0);
    }
}

/* What became of the child. It has memory of its own: kernels before 5.16 kill whatever shares that of a process which
 * dies with a core. Its end sends no signal. */
static enum fate try_in_child(const struct attempt *attempt)
{
    uint64_t mask = pp_sys_signal_mask(SIG_SETMASK, UINT64_MAX);
    int status = 0, pid = (int)pp_syscall6(SYS_clone, CLONE_VFORK, 0, 0, 0, 0, 0);
    if (pid == 0)
        try_calls(attempt);
    bool waited = pid > 0 && pp_syscall4(SYS_wait4, pid, (long)&status, __WALL, 0) == pid;
    pp_sys_signal_mask(SIG_SETMASK, mask);
    if (!waited)
        return NO_CHILD;
    return status == 0 ? LIVES : DIES;
}

bool pp_sandbox_forbids(void)
{
    static const struct attempt there = {.number = 0}, more = {.own_descriptors = true};
    char text[STATUS_MAX];
    text[pp_read_file("/proc/self/status", text, sizeof text - 1)] = 0;
    const char *mode = strstr(text, "\nSeccomp:\t");
    if (!mode || mode[10] != '2')
        return false;
    if (try_in_child(&more) == LIVES) {
        pp_own_descriptors_tried();
        return false;
    }
    if (try_in_child(&there) != DIES)
        return false;
    atomic_store(&silent, true);
    pp_say_once(PP_CAUSE_SANDBOX, "a seccomp filter would kill this process for being profiled: it is not profiled");
    return true;
}

static void disarm(struct pp_slot *slot)
{
    pp_timer_disarm(slot);
}

static void wait_ns(uint64_t ns)
{
    static _Atomic uint32_t never;
    struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    pp_syscall4(SYS_futex, (long)&never, FUTEX_WAIT_PRIVATE, 0, (long)&time);
}

/* Everything is written; no timer, no thread, no handler and no lock of ours is left, and what we stand in front of
 * passes through. A filter may be for all threads: each that installs one comes back when this is so. */
static void end_profiling(const char *why)
{
    uint64_t start = pp_sys_clock_ns(CLOCK_MONOTONIC);
    if (atomic_exchange(&ending, true)) {
        while (!atomic_load(&ended) && pp_sys_clock_ns(CLOCK_MONOTONIC) - start < ENDING_NS)
            wait_ns(LOOK_NS);
        return;
    }
    pp_say_once(PP_CAUSE_SANDBOX, why);
    pp_flush_to_the_end();
    atomic_store(&pp_capture.enabled, 0);
    pp_interpose_stop();
    atomic_store(&silent, true);
    pp_each_slot(disarm);
    start = pp_sys_clock_ns(CLOCK_MONOTONIC);
    do /* one that has just begun is not seen yet */
        wait_ns(LOOK_NS);
    while (!pp_handlers_quiet() && pp_sys_clock_ns(CLOCK_MONOTONIC) - start < HANDLERS_NS);
    atomic_store(&ended, true);
}

static void before_filter(long number, long a, long b, long c, long d, long e)
{
    struct attempt attempt = {.number = number, .arguments = {a, b, c, d, e}};
    if (!pp_process_is_profiled())
        return;
    if (atomic_load(&ending) && !atomic_load(&ended))
        end_profiling(WOULD_KILL); /* waits for the one who says why */
    if (!atomic_load(&pp_capture.enabled))
        return;
    bool filter = number == SYS_prctl ? b == SECCOMP_MODE_FILTER
                                      : a == SECCOMP_SET_MODE_FILTER && !(b & SECCOMP_FILTER_FLAG_NEW_LISTENER);
    enum fate fate = filter ? try_in_child(&attempt) : DIES;
    if (fate != LIVES)
        end_profiling(fate == DIES ? WOULD_KILL : MAY_KILL);
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
    /* without a filter it only asks */
    if (option == PR_SET_SECCOMP && (a == SECCOMP_MODE_STRICT || b))
        before_filter(SYS_prctl, option, a, b, c, d);
    return libc->prctl(option, a, b, c, d);
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

long pp_seccomp_call(long number, long operation, long flags, long arguments);
long pp_seccomp_call(long number, long operation, long flags, long arguments)
{
    /* libseccomp asks with flags, which always fails, whether there is the call */
    if ((operation == SECCOMP_SET_MODE_STRICT && !flags && !arguments) ||
        (operation == SECCOMP_SET_MODE_FILTER && arguments))
        before_filter(number, operation, flags, arguments, 0, 0);
    return pp_real_syscall(number, operation, flags, arguments, 0, 0, 0);
}

/* A jump, not a call: what comes back may have another stack. 317: seccomp. */
__asm__(".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "  cmp $317, %rdi\n"
        "  je pp_seccomp_call\n"
        "  jmp *pp_real_syscall(%rip)\n"
        ".cfi_endproc\n"
        ".size syscall, . - syscall\n");
