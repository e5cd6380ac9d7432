/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the flush thread a descriptor table of its own (close_range(2) with CLOSE_RANGE_UNSHARE, Linux 5.9). The
 * program never sees a descriptor of ours, its RLIMIT_NOFILE does not apply to us, a file that it closes is closed, and
 * the system calls of a program with one thread keep the kernel's fast path for unshared tables. Without it (an older
 * kernel, a seccomp filter that kills for it) our descriptors are in the program's table during a write or a read. */
#ifndef PP_BASE_FD_TABLE_H
#define PP_BASE_FD_TABLE_H

#include <stdbool.h>

/* Forbids an own table: a filter kills for it. At start-up. */
void pp_fd_table_forbid(void);

/* Moves the calling thread to an empty table if the kernel has the call. The thread must need none of the program's
 * descriptors, and another thread of the program must live: a table's files are closed with its last user. */
void pp_fd_table_begin(void);

/* Whether the calling thread has a table of its own. */
bool pp_fd_table_here(void);

/* Returns the program's descriptor 2, or a duplicate of it in a thread with its own table. -errno if it is not open or
 * cannot be duplicated. Any thread. */
int pp_fd_table_stderr(void);
/* Closes what pp_fd_table_stderr returned. */
void pp_fd_table_stderr_end(int descriptor);

#endif
