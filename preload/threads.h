/*
 * The registry: one slot per thread of the host. Slots are claimed and given back under a lock that no handler takes.
 * See capture/slot.h for a slot's life.
 */
#ifndef PP_THREADS_H
#define PP_THREADS_H

#include "capture/capture.h"

/* A slot for a thread that is about to be made, or NULL (counted). Normal context. */
struct pp_slot *pp_slot_claim(void);
/* Gives a claimed slot, or an ended one that has been drained, back. */
void pp_slot_release(struct pp_slot *slot);

/* The calling thread takes a claimed slot: bounds of its stack, signal unblocked, timer armed.
 * stack_top: first address above its stack, 0 if unknown. */
void pp_thread_begin(struct pp_slot *slot, uintptr_t stack_top);
/* The calling thread ends: its timer goes, its clock is noted. The slot belongs to the flush thread from here on. */
void pp_thread_end(struct pp_slot *slot);

/* Finds threads that nobody registered (raw clone, older than us) and slots whose thread is gone. Flush thread only.
 * own_tid: the flush thread's, left out. */
void pp_threads_scan(int own_tid);

/* What the thread of a claimed slot has burned until its CPU clock read this is outside the sums. */
void pp_slot_begin_at(struct pp_slot *slot, uint64_t cpu_ns);

/* Takes up the threads that are there before pthread_create registers new ones, but for the caller. Once, when the
 * handler is installed. late: their CPU time counts from now. */
void pp_threads_adopt_older(bool late);

/* Finds out where glibc's thread descriptors hold the tid; called in a thread that has a descriptor of its own. */
void pp_threads_learn_descriptor(void);

/* Whether the main thread has left by pthread_exit and no other thread of the host is alive: the process would end now
 * if our thread were not there. Flush thread only. */
bool pp_threads_all_ended(void);

/* Threads of the process as the kernel counts them, 0 if unknown. async-signal-safe. */
unsigned pp_kernel_thread_count(void);

/* In the child of fork: forgets every thread but the caller, which gets a slot of its own (NULL: none to be had). */
struct pp_slot *pp_threads_after_fork(uintptr_t stack_top, bool application_blocks);

/* Every slot that exists, whatever its state. */
void pp_each_slot(void (*visit)(struct pp_slot *slot));

/* How often something of enum pp_reason happened outside handlers (timers refused, no slot). */
extern _Atomic uint64_t pp_thread_reasons[PP_REASON_COUNT];
extern _Atomic uint32_t pp_slot_count; /* slots [0, count) may be non-NULL */

#endif
