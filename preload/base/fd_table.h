/*
 * The flush thread's own table of descriptors (close_range(2) with CLOSE_RANGE_UNSHARE, Linux 5.9): what it opens for a
 * write, for /proc or for a module has no number in the program's table. So the program never meets a descriptor of
 * ours, a limit that it has used up is not ours, a file that it closes is closed, and with one thread of its own its
 * system calls take the kernel's way for tables that nobody shares.
 * Without it (an older kernel, a seccomp filter that kills for it) descriptors of ours are in the program's table for
 * the time of a write or a read.
 */
#ifndef PP_BASE_FD_TABLE_H
#define PP_BASE_FD_TABLE_H

#include <stdbool.h>

/* Makes the system calls for such a table, but that nothing comes of it: in a child, to see whether a filter kills. */
void pp_fd_table_try(void);
/* A filter kills for it: there is to be no such table. At start-up. */
void pp_fd_table_forbid(void);

/* The calling thread leaves the program's table for an empty one, if one can be had. For a thread that never again
 * needs a descriptor of the program's by its number, while another one of the program lives: what is in a table is
 * closed with its last user. */
void pp_fd_table_begin(void);

/* Whether the calling thread has such a table. */
bool pp_fd_table_here(void);

/* Descriptor 2 of the program: that number itself in a thread which shares its table, else a duplicate. Negative if it
 * is not open or cannot be had. Any thread. */
int pp_fd_table_stderr(void);
/* Gives back what pp_fd_table_stderr returned. */
void pp_fd_table_stderr_end(int descriptor);

#endif
