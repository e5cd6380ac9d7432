/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the kernel for threads that were not registered, and for threads that ended without reporting it. */
#ifndef PP_THREADS_SCAN_H
#define PP_THREADS_SCAN_H

#include <stdbool.h>
#include <stdint.h>

/* Finds threads that were not registered (raw clone, older than us) and slots whose thread is gone. Skips flush_tid,
 * the flush thread. Returns after how many ns to scan again, 0: with the next flush. Flush thread only. */
uint64_t pp_threads_scan(int flush_tid);

/* Returns after how many ns a program is to be scanned again whose threads bypass our wrappers, if none of them has
 * come or gone for quiet_ns: a thread is found within a quarter of that time, or a second. Any context. */
uint64_t pp_scan_pause_ns(uint64_t quiet_ns);

struct pp_slot;
/* Marks the slot of a thread that is gone ENDED, with the last known value of its clock, unless the thread has reported
 * its end. Flush thread only. */
void pp_thread_vanished(struct pp_slot *slot);

/* Returns whether a thread that has reported its end still runs its last destructors. Flush thread only. */
bool pp_thread_lingers(const struct pp_slot *slot);

/* Whether each thread that the kernel has now, but for the flush thread, has a slot whose clock is read, and no thread
 * is known to have bypassed our wrappers. Flush thread only. */
bool pp_threads_are_known(void);

/* Whether threads of the process are known to have begun or ended by raw system calls. Flush thread only. */
bool pp_threads_may_be_unregistered(void);

/* Returns the CPU time of the threads that have no slot; reads the list of all. Flush thread only. */
uint64_t pp_threads_unregistered_ns(void);

/* Registers the threads that exist already, except the caller; their CPU time counts from now. Call once, after the
 * handler is installed and before profiling is enabled. */
void pp_threads_adopt_older(void);

/* Finds out where glibc's thread descriptors hold the tid; called in a thread that has a descriptor of its own. */
void pp_threads_learn_descriptor(void);

/* Returns whether the main thread has left by pthread_exit and no other thread of the host is alive: without the flush
 * thread the process would end now. Flush thread only. */
bool pp_threads_all_ended(void);

/* Forgets the suspects, which are the parent's threads. Runs in the child of fork. */
void pp_thread_scan_after_fork(void);

#endif
