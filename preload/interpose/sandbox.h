/* seccomp filters, which may kill a process for a system call of ours. Normal context. */
#ifndef PP_SANDBOX_H
#define PP_SANDBOX_H

#include <stdbool.h>

/* libc's syscall(), which jumps there. */
extern long (*pp_real_syscall)(long, long, long, long, long, long, long);

/* Whether a filter that was there before the program would kill it for what we do. */
bool pp_sandbox_forbids(void);

/* Profiling has ended for the sake of a filter: nothing of ours makes a system call any more. async-signal-safe. */
bool pp_sandbox_silent(void);

/* In the child of fork: another thread of the parent may have been ending profiling. */
void pp_sandbox_after_fork(void);

#endif
