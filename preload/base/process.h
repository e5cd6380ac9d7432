/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the profiled process: its number, its start, and the state of its end. */
#ifndef PP_BASE_PROCESS_H
#define PP_BASE_PROCESS_H

#include "lock.h"
#include "syscalls.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Written by the thread that starts profiling and by the child's atfork handler; atomic members at any time. */
extern struct pp_process {
    _Atomic int pid; /* a process with another number is a copy that is not profiled, as the child of vfork */
    /* 1; in a copy of this memory the kernel makes it 0. The number alone is not enough: in a pid namespace of its own
     * a child may have its parent's. NULL on an older kernel. */
    _Atomic uint32_t *_Atomic mark;
    /* Profiling has ended because of a seccomp filter: our code makes no system calls any more. */
    _Atomic bool silent;
    struct pp_lock ending;     /* held by a thread that ends profiling */
    _Atomic bool main_ended;   /* the main thread is a zombie until the process ends */
    _Atomic bool main_watched; /* its end will be noticed; if it ends with this still set, it has bypassed libc */

    /* The main thread's stack, as far down as the kernel keeps other mappings away. */
    uintptr_t main_stack_low, main_stack_top;
    char python_version[16]; /* of the first interpreter that can be read, else of the first; "" when unknown */

    /* Clocks and counters at the time when Python appeared, or in the child's atfork handler. */
    struct {
        uint64_t unix_ns, monotonic_ns;
        uint64_t process_cpu_ns; /* used earlier: before exec, by the loader, by a program without Python */
        uint64_t thread_cpu_ns;  /* of the thread in which Python appeared, read together with process_cpu_ns */
        /* Counted per pid: exec does not reset them. */
        uint64_t children_cpu_ns;
        uint64_t voluntary_switches, involuntary_switches, minor_faults, major_faults;
    } start;
} pp_process;

/* Begins profiling of this process. */
void pp_process_begins(void);

/* Returns the number by which the kernel finds the caller's memory, without a system call where the kernel marks copies
 * of this process's. async-signal-safe. */
int pp_process_own_pid(void);

/* Returns what the kernel has billed to descendants that have ended and were waited for. */
uint64_t pp_children_cpu_ns(void);

/* Makes the child of fork a profiled process that begins now. Runs in its atfork handler. */
void pp_process_after_fork(void);

/* Whether this process is profiled and no mere copy (the child of vfork or of a bare clone). async-signal-safe. */
static inline bool pp_process_is_profiled(void)
{
    const _Atomic uint32_t *mark = atomic_load(&pp_process.mark);
    /* the child of vfork has its parent's memory, and its own number */
    return (!mark || atomic_load(mark)) && pp_sys_getpid() == atomic_load(&pp_process.pid);
}

#endif
