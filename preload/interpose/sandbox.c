/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps the calls by which a program gives up rights. A seccomp filter may kill for system calls that the program does
 * not need but we do: profiling ends before the program installs a filter. Capabilities, privileges and namespaces are
 * a thread's own: in a program of one thread, the flush thread ends before they change, and is made again with the
 * rights that are left. */
#include "../base/libc.h"
#include "../base/lock.h"
#include "../base/memory_file.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../flush/lifecycle.h"
#include "../threads/registry.h"
#include "../threads/signal.h"
#include "../threads/thread_slot.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/nsfs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define QUIET_NS                 10000000000u /* at most, for handlers, and threads that begin or end */
#define POLL_NS                  1000000
#define LANDLOCK_RESTRICT_SELF   446
#define SYSCALL_USER_DISPATCH    59 /* of prctl */
#define SYSCALL_USER_DISPATCH_ON 1

/* Ends profiling: everything is written, no timer, thread, handler or lock of ours is left, and our wrappers pass calls
 * through. A filter may be for all threads, so each thread that installs a filter waits for this. A process whose flush
 * thread could not be made has our handler and our fork hooks, too: its children would be profiled. */
static void end_profiling(void)
{
    static const struct timespec pause = {0, POLL_NS};
    if (!pp_process_is_profiled())
        return;
    pp_lock_acquire(&pp_process.ending);
    if (!atomic_load(&pp_process.silent)) {
        if (pp_is_enabled())
            pp_warn_once(PP_CAUSE_SANDBOX, "the program installs a seccomp filter: profiling ends here");
        pp_flush_to_the_end();
        const struct pp_slot *slot = pp_slot_here();
        atomic_store(&pp_capture.enabled, 0);
        if (slot && slot->thread.believes_blocked) /* no slot remembers that from here on */
            pp_sys_signal_mask(SIG_BLOCK, (uint64_t)1 << (slot->thread.profiler_signal - 1));
        atomic_store(&pp_process.silent, true);
        for (struct pp_slot *other = pp_slot_at(0); other; other = pp_slot_at(other->index + 1))
            pp_timer_disarm(other, PP_TIMER_NONE);
        uint64_t start = pp_sys_clock_ns(CLOCK_MONOTONIC);
        do /* a handler that has just begun is not seen yet; a filter kills for its calls, and for those of threads */
            pp_syscall4(SYS_nanosleep, (long)&pause, 0, 0, 0);
        while (!pp_threads_quiet() && pp_sys_clock_ns(CLOCK_MONOTONIC) - start < QUIET_NS);
        pp_signal_end();
        pp_memory_file_end();
    }
    pp_lock_release(&pp_process.ending);
}

/* Whether the call installs a filter. Without a filter argument it only queries; libseccomp queries with flags for
 * strict mode, which always fails. */
static bool installs_filter(long number, long a, long b, long c)
{
    if (number == SYS_prctl)
        return a == PR_SET_SECCOMP && (b == SECCOMP_MODE_STRICT || c);
    return number == SYS_seccomp && ((a == SECCOMP_SET_MODE_STRICT && !b && !c) || (a == SECCOMP_SET_MODE_FILTER && c));
}

/* Whether the call puts the program's children into another pid namespace, and does nothing that the kernel refuses to
 * a process with threads. */
static bool moves_children(long number, long a, long b)
{
    if (number == SYS_unshare)
        return a & CLONE_NEWPID && !(a & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM));
    int type = (int)b; /* 0: whatever the descriptor is of */
    return number == SYS_setns && (type ? type : pp_syscall4(SYS_ioctl, (int)a, NS_GET_NSTYPE, 0, 0)) == CLONE_NEWPID;
}

/* Whether a call in pp_confining_calls takes rights. In a program of several threads the others keep theirs, and so
 * does ours. */
static bool confines(long number, long a, long b)
{
    if (moves_children(number, a, b)) /* the kernel makes no thread afterwards */
        return false;
    if (number == SYS_prctl &&
        (a != PR_SET_NO_NEW_PRIVS && a != PR_CAPBSET_DROP && a != PR_CAP_AMBIENT && a != PR_SET_SECUREBITS))
        return false;
    return number != SYS_seccomp && (number != SYS_keyctl || a == KEYCTL_JOIN_SESSION_KEYRING) &&
           !pp_other_threads(false);
}

/* Prepares for a call in pp_confining_calls. Returns whether the flush thread was stopped for it. */
static bool prepare(long number, long a, long b, long c)
{
    if (installs_filter(number, a, b, c))
        end_profiling();
    if (!pp_is_enabled())
        return false;
    if (number == SYS_prctl && a == SYSCALL_USER_DISPATCH && b == SYSCALL_USER_DISPATCH_ON)
        pp_thread_never_arm(); /* the handler's system calls would raise signals that it blocks */
    if (!confines(number, a, b))
        return false;
    /* afterwards the thread may not be able to write, or cannot be made again (unshare of a pid namespace) */
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
    va_list list;
    va_start(list, option);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long);
    va_end(list);
    PP_REQUIRE(prctl);
    bool stopped = prepare(SYS_prctl, option, a, b);
    int result = pp_real()->prctl(option, a, b, c, d);
    resume(stopped);
    return result;
}

/* Calls libc's function of two arguments or less; `first` and `second` are those that matter to prepare(). */
#define CONFINE(name, first, second, ...)                                                                              \
    do {                                                                                                               \
        PP_REQUIRE(name);                                                                                              \
        bool stopped = prepare(SYS_##name, (long)(first), (long)(second), 0);                                          \
        int result = pp_real()->name(__VA_ARGS__);                                                                     \
        resume(stopped);                                                                                               \
        return result;                                                                                                 \
    } while (0)

PP_EXPORT int capset(void *header, const void *data)
{
    CONFINE(capset, 0, 0, header, data);
}

/* The kernel refuses user and other namespaces to a process with threads, so the flush thread is stopped. */
PP_EXPORT int unshare(int flags)
{
    CONFINE(unshare, flags, 0, flags);
}

PP_EXPORT int setns(int fd, int type)
{
    CONFINE(setns, fd, type, fd, type);
}

/* The bit of a system call in a word of 64 numbers; 0 in all other words. */
#define BIT(word, number) ((uint64_t)((number) / 64 == (word)) << (number) % 64)
#define WORD(word)                                                                                                     \
    (BIT(word, SYS_setuid) | BIT(word, SYS_setgid) | BIT(word, SYS_setreuid) | BIT(word, SYS_setregid) |               \
     BIT(word, SYS_setgroups) | BIT(word, SYS_setresuid) | BIT(word, SYS_setresgid) | BIT(word, SYS_capset) |          \
     BIT(word, SYS_prctl) | BIT(word, SYS_keyctl) | BIT(word, SYS_unshare) | BIT(word, SYS_setns) |                    \
     BIT(word, SYS_seccomp) | BIT(word, LANDLOCK_RESTRICT_SELF))

/* The system calls that go through prepare(): a bit for each number. */
extern const uint64_t pp_confining_calls[8];
const uint64_t pp_confining_calls[8] = {WORD(0), WORD(1), WORD(2), WORD(3), WORD(4), WORD(5), WORD(6), WORD(7)};

long pp_confining_call(long number, long a, long b, long c, long d, long e, long f);
long pp_confining_call(long number, long a, long b, long c, long d, long e, long f)
{
    bool stopped = prepare(number, a, b, c);
    long result = pp_real_syscall(number, a, b, c, d, e, f);
    resume(stopped);
    return result;
}

PP_SYSCALL_STUB("pp_confining_calls", "pp_confining_call", "pp_real_syscall")
