/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the flush thread, waits for it and ends it, from the other threads of the process. loop.h runs in it. */
#ifndef PP_FLUSH_LIFECYCLE_H
#define PP_FLUSH_LIFECYCLE_H

#include <stdbool.h>

/* Makes the flush thread; if that fails, the process is not profiled and a message says so. Normal context. */
void pp_flush_thread_start(void);
/* Makes the flush thread again if it is needed: after pp_flush_thread_stop, and in the child of fork if the parent had
 * it. It may allocate: call it after all atfork handlers. */
void pp_flush_thread_in_child(void);

/* Returns whether this process has a flush thread. async-signal-safe. */
bool pp_flush_thread_runs(void);

/* Ends the flush thread before a call that the kernel refuses to a process with threads; pp_flush_thread_in_child makes
 * it again. Waits two seconds at most and returns false if the thread has not ended by then, as on a stalled disk.
 * Normal context, any thread of the host. */
bool pp_flush_thread_stop(void);

/* Prepares the flush thread for the end of the main thread, while other threads may go on. Call in the main thread. */
void pp_flush_thread_outlives_main(void);

/* Has the flush thread write everything and end for good; waits two seconds at most. Normal context. */
void pp_flush_to_the_end(void);

/* Has everything written as the process ends; waits two seconds at most, up to ten while the flush thread uses the CPU,
 * less if an earlier wait found it stuck. Does nothing in the child of vfork or without a flush thread.
 * async-signal-safe: programs call _exit in handlers. */
void pp_flush_at_exit(void);

/* Has all samples written before exec, which may fail; waits as pp_flush_at_exit, but half a second while the flush
 * thread uses no CPU time. Does nothing if less than 1 ms of CPU time was used and no request counted since the last
 * flush, in the child of vfork, or without a flush thread. async-signal-safe. */
void pp_flush_before_exec(void);
/* Has all samples written, however little CPU time was used, before the process sends itself a signal that may end it.
 * Waits as pp_flush_before_exec does. async-signal-safe. */
void pp_flush_before_signal(void);

/* Resets all of flush/ in the child's atfork handler: forgets the flush thread, the forks under way, the parent's file
 * and its unwritten samples. Does not allocate. */
void pp_flush_after_fork(void);

#endif
