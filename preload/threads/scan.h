/* Asks the kernel for threads that were not registered, and for threads that are gone without having reported it. */
#ifndef PP_THREAD_SCAN_H
#define PP_THREAD_SCAN_H

#include <stdbool.h>
#include <stdint.h>

/* Finds threads that were not registered (raw clone, older than us) and slots whose thread is gone. own_tid: the flush
 * thread's, left out. Returns whether the next scan is to come soon. Flush thread only. */
bool pp_threads_scan(int own_tid);

struct pp_slot;
/* The slot's thread is gone: unless it has reported its end, its slot has ENDED with what was last seen of its clock.
 * Flush thread only. */
void pp_thread_vanished(struct pp_slot *slot);

/* Whether the kernel still has a thread that has reported its end: it runs its last destructors. Flush thread only. */
bool pp_thread_lingers(const struct pp_slot *slot);

/* CPU time of the threads that the last scan found and that have no slot yet; UINT64_MAX if they were too many to
 * be noted. Flush thread only. */
uint64_t pp_threads_unregistered_ns(void);

/* Takes up the threads that are there before pthread_create registers new ones, but for the caller. Once, when the
 * handler is installed: their CPU time counts from now. */
void pp_threads_adopt_older(void);

/* Finds out where glibc's thread descriptors hold the tid; called in a thread that has a descriptor of its own. */
void pp_threads_learn_descriptor(void);

/* Whether the main thread has left by pthread_exit and no other thread of the host is alive: the process would end now
 * if our thread were not there. Flush thread only. */
bool pp_threads_all_ended(void);

/* In the child of fork: the suspects are the parent's threads. */
void pp_thread_scan_after_fork(void);

#endif
