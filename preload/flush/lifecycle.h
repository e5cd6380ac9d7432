/* How the flush thread is made, waited for and ended, by the other threads of the process. What it does is loop.h's. */
#ifndef PP_FLUSH_LIFECYCLE_H
#define PP_FLUSH_LIFECYCLE_H

#include <stdbool.h>

/* The flush thread calls it at each flush: interpreters may have been loaded past our functions. Set once, before the
 * thread is made. */
extern void (*pp_flush_find_pythons)(void);

/* Makes the thread. Normal context, any thread of the host. */
void pp_flush_thread_start(void);
/* The same where one is needed: in the child of fork, if the parent had one, after all atfork handlers, since it may
 * allocate; and after pp_flush_thread_stop. */
void pp_flush_thread_in_child(void);

/* Whether this process has a flush thread. async-signal-safe. */
bool pp_flush_thread_runs(void);

/* The thread ends, and is made again: around calls that the kernel refuses to a process with threads. True if it has
 * ended; on a stalled disk it has not after two seconds. Normal context, any thread of the host. */
bool pp_flush_thread_stop(void);

/* The main thread is about to end while others may go on. In it. */
void pp_flush_thread_outlives_main(void);

/* Writes everything and ends the thread for good, waiting for it as at the end. Normal context. */
void pp_flush_to_the_end(void);

/* Has everything written, waiting for it two seconds at most: so do all of these, together where the thread is stuck.
 * Nothing in the child of vfork or without a flush thread. async-signal-safe: programs call _exit in handlers. */
void pp_flush_at_exit(void);

/* Has written what there is, waiting for it while it gets on; the process goes on should exec fail. Nothing where
 * little CPU time was used since the last flush, in the child of vfork or without a flush thread. async-signal-safe. */
void pp_flush_before_exec(void);
/* Has everything written, however little CPU time was used, before a signal of the process to itself that may end it.
 */
void pp_flush_before_signal(void);

/* The flush thread is inside libc or the loader between enter and leave, and no fork copies the process meanwhile, if
 * that can be had in time. Any number of threads may fork at once; begin and end are called in pairs, by the parent. */
void pp_fork_gate_enter(void);
void pp_fork_gate_leave(void);
void pp_fork_gate_fork_begins(void);
void pp_fork_gate_fork_ends(void);

/* In the child's atfork handler, for all of flush/: forgets the thread, the forks under way, what the parent had not
 * written, and its file. No allocation. */
void pp_flush_after_fork(void);

#endif
