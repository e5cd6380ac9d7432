/* The profiled process: its number, how it began, and what has been decided about it. */
#ifndef PP_BASE_PROCESS_H
#define PP_BASE_PROCESS_H

#include "lock.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Written by the thread that starts profiling, and in the child's atfork handler; atomic members at any time. */
extern struct pp_process {
    _Atomic int pid; /* a process with another number is a copy that is not profiled: the child of vfork */
    /* Profiling has ended for the sake of a seccomp filter: nothing of ours makes a system call any more. */
    _Atomic bool silent;
    struct pp_lock ending;     /* held by a thread that ends profiling */
    _Atomic bool main_ended;   /* the main thread is a zombie until the process ends */
    _Atomic bool main_watched; /* its end will be noticed; if it has ended without that, it left past libc */

    /* Of the main thread: as far down as the kernel keeps other mappings away. */
    uintptr_t main_stack_low, main_stack_top;
    char python_version[16]; /* of the first interpreter that can be read, else of the first; "" when unknown */

    /* What it was when Python appeared, or in the child's atfork handler. */
    struct {
        uint64_t unix_ns, monotonic_ns;
        uint64_t process_cpu_ns; /* used before: by what exec replaced, by the loader, by a program without Python */
        uint64_t thread_cpu_ns;  /* of the thread in which Python appeared, read along with it */
        /* Of the pid: exec does not reset them. */
        uint64_t voluntary_switches, involuntary_switches, minor_faults, major_faults;
    } start;
} pp_process;

/* From here on this process is the profiled one. */
void pp_process_begins(void);

/* In the child's atfork handler: the child is a profiled process of its own, which begins now. */
void pp_process_after_fork(void);

/* Whether this process is the profiled one, and no copy of it that goes without (the child of vfork, of a bare clone).
 * async-signal-safe. */
bool pp_process_is_profiled(void);

/* Whether profiling has ended for a seccomp filter. async-signal-safe. */
static inline bool pp_process_is_silent(void)
{
    return atomic_load_explicit(&pp_process.silent, memory_order_relaxed);
}

#endif
