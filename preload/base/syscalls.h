/* SPDX-License-Identifier: Apache-2.0 */
/* System calls without libc: no errno (a raw-clone thread shares its creator's), no cancellation points, no
 * interposition by another preloaded library. Unless stated otherwise they return what the kernel returns: -errno on
 * failure. All are async-signal-safe. */
#ifndef PP_BASE_SYSCALLS_H
#define PP_BASE_SYSCALLS_H

#include "../arch/arch.h"
#include "memory_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#define PP_ERROR_MAX 4095 /* a result from -PP_ERROR_MAX on is an error */

static inline bool pp_is_error(long result)
{
    return result < 0 && result >= -PP_ERROR_MAX;
}

#define PP_MAP_PRIVATE_ANONYMOUS 0x22
#define PP_PROT_READ_WRITE       3

/* Returns NULL on failure. */
static inline void *pp_sys_mmap_anonymous(size_t size)
{
    long r = pp_syscall6(SYS_mmap, 0, (long)size, PP_PROT_READ_WRITE, PP_MAP_PRIVATE_ANONYMOUS, -1, 0);
    return pp_is_error(r) ? NULL : (void *)r;
}

#define PP_MREMAP_MAYMOVE 1

/* Returns NULL on failure. */
static inline void *pp_sys_mremap(void *start, size_t size, size_t new_size)
{
    long r = pp_syscall4(SYS_mremap, (long)start, (long)size, (long)new_size, PP_MREMAP_MAYMOVE);
    return pp_is_error(r) ? NULL : (void *)r;
}

static inline void pp_sys_munmap(void *start, size_t size)
{
    pp_syscall4(SYS_munmap, (long)start, (long)size, 0, 0);
}

#define PP_MADV_DONTNEED 4

/* Gives whole pages back to the kernel: they read as zeros from then on. */
static inline void pp_sys_madvise(void *start, size_t size, int advice)
{
    pp_syscall4(SYS_madvise, (long)start, (long)size, advice, 0);
}

static inline int pp_sys_gettid(void)
{
    return (int)pp_syscall4(SYS_gettid, 0, 0, 0, 0);
}

static inline int pp_sys_getpid(void)
{
    return (int)pp_syscall4(SYS_getpid, 0, 0, 0, 0);
}

/* Changes the calling thread's signal mask (bit signal - 1) by `how` (SIG_BLOCK …) and returns the old one. Not for a
 * lasting mask: glibc's setuid reaches the threads by a signal of its own. */
static inline uint64_t pp_sys_signal_mask(int how, uint64_t set)
{
    uint64_t before = 0;
    pp_syscall4(SYS_rt_sigprocmask, how, (long)&set, (long)&before, sizeof set);
    return before;
}

static inline int pp_sys_openat(int directory, const char *path, int flags, int mode)
{
    return (int)pp_syscall4(SYS_openat, directory, (long)path, flags, mode);
}

static inline int pp_sys_open(const char *path, int flags, int mode)
{
    return pp_sys_openat(AT_FDCWD, path, flags, mode);
}

/* Finds what a path leads to; with AT_SYMLINK_NOFOLLOW a link itself. Returns 0 or -errno. */
static inline long pp_sys_stat(const char *path, struct stat *status, int flags)
{
    return pp_syscall4(SYS_newfstatat, AT_FDCWD, (long)path, (long)status, flags);
}

static inline long pp_sys_readlink(const char *path, char *buffer, size_t size)
{
    return pp_syscall4(SYS_readlinkat, AT_FDCWD, (long)path, (long)buffer, (long)size);
}

static inline long pp_sys_read(int fd, void *buffer, size_t size)
{
    return pp_syscall4(SYS_read, fd, (long)buffer, (long)size, 0);
}

static inline long pp_sys_pread(int fd, void *buffer, size_t size, uint64_t offset)
{
    return pp_syscall4(SYS_pread64, fd, (long)buffer, (long)size, (long)offset);
}

static inline long pp_sys_write(int fd, const void *buffer, size_t size)
{
    return pp_syscall4(SYS_write, fd, (long)buffer, (long)size, 0);
}

static inline void pp_sys_close(int fd)
{
    pp_syscall4(SYS_close, fd, 0, 0, 0);
}

/* Reads a clock, in nanoseconds; 0 if it does not exist (its thread is gone). */
static inline uint64_t pp_sys_clock_ns(int clock)
{
    struct timespec t;
    if (pp_syscall4(SYS_clock_gettime, clock, (long)&t, 0, 0) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the kernel's tick period, to which CPU timers are rounded up; 0 if unknown. */
static inline uint64_t pp_sys_tick_ns(void)
{
    /* the coarse clock advances at ticks, so its resolution is the tick period */
    struct timespec tick = {0, 0};
    pp_syscall4(SYS_clock_getres, CLOCK_REALTIME_COARSE, (long)&tick, 0, 0);
    return (uint64_t)tick.tv_nsec;
}

/* Returns 64 random bits; not for secrets. */
static inline uint64_t pp_sys_random(void)
{
    uint64_t value = 0;
    if (pp_syscall4(SYS_getrandom, (long)&value, sizeof value, 1 /* GRND_NONBLOCK */, 0) != sizeof value)
        value = pp_sys_clock_ns(CLOCK_MONOTONIC) * 0x9E3779B97F4A7C15u ^ (uint64_t)pp_sys_getpid() << 32;
    return value;
}

/* Returns the CPU clock of a thread, usable from any thread of the process (kernel: include/linux/posix-timers.h). */
static inline int pp_thread_cpu_clock(int tid)
{
    return (int)((~(unsigned)tid << 3) | 6u);
}

/* Copies memory of this process that may be unmapped; never faults. Returns the bytes copied, up to what is not there;
 * -EFAULT: nothing is there; another -errno: nothing can be copied at all. */
static inline long pp_sys_safe_copy(int pid, const struct iovec *to, unsigned to_count, const struct iovec *from,
                                    unsigned from_count)
{
    if (__builtin_expect(pp_memory_file.used, false))
        return pp_memory_file_copy(to, to_count, from, from_count);
    long copied = pp_syscall6(SYS_process_vm_readv, pid, (long)to, to_count, (long)from, from_count, 0);
    if (copied != -ESRCH)
        return copied;
    /* The main thread has ended, and a zombie's pid has no memory; the kernel takes a live thread's tid as well. */
    return pp_syscall6(SYS_process_vm_readv, pp_sys_gettid(), (long)to, to_count, (long)from, from_count, 0);
}

#endif
