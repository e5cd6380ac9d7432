/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the state of the flush thread: all that it shares with the threads that make it, wait for it and end it
 * (lifecycle.h). */
#ifndef PP_FLUSH_STATE_H
#define PP_FLUSH_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Tells the state of the flush thread. lifecycle.c sets what the thread is to do (NONE, RUNS, PAUSES, LEAVES, STOPS),
 * loop.c what it has done (NEEDED, LEFT, DONE). The values are ordered: from RUNS on there is a thread. */
enum pp_flush_life {
    PP_FLUSH_NONE,
    PP_FLUSH_LEFT,   /* the thread has ended for good, the process goes on */
    PP_FLUSH_NEEDED, /* the thread is to be made: in the child of fork, or while it is paused; or only the
                         process's children can make it (pp_flush_thread_in_child) */
    PP_FLUSH_RUNS,
    PP_FLUSH_PAUSES, /* the thread is to end, and will be made again */
    PP_FLUSH_LEAVES, /* the thread is to write the rest and end for good */
    PP_FLUSH_STOPS,  /* the thread is to write the rest: the process ends */
    PP_FLUSH_DONE,   /* the rest is written, the process ends */
};

extern struct pp_flush_thread {
    _Atomic uint32_t life;    /* futex, enum pp_flush_life */
    _Atomic uint32_t answers; /* futex: counts the flushes that other threads asked for */
    _Atomic int tid;          /* 0: the thread has not begun */
    /* Set by the last wait if it ended in vain: since when (CLOCK_MONOTONIC) the thread had used no CPU time, and its
     * CPU clock plus one. stuck_at_ns 0: the last wait succeeded. */
    _Atomic uint64_t stuck_since_ns, stuck_at_ns;
    /* The thread stays in the program's descriptor table, because the main thread ends. */
    _Atomic bool shares_descriptors;
    /* The account's cpu_ns at the last flush; 0 once the log says that the process goes on: exec always writes. */
    _Atomic uint64_t flushed_cpu_ns;
    /* Futexes of fork_gate.c: the number of forks under way in all threads, and of those that wait for the flush
     * thread; how often it has entered and left the gate: odd while it is inside or about to enter. */
    _Atomic uint32_t forks, forks_waiting, gate;
    /* The gate's value that a fork has waited for in vain: our thread has been inside since. 0: none has. */
    _Atomic uint32_t gate_in_vain;
} pp_flush;

/* The flush thread calls this at each flush, to find interpreters that started without calling our functions. Set it
 * once, before the thread is made; NULL: nothing is called. */
extern void (*pp_flush_find_pythons)(void);

/* Changes pp_flush.life from `from` to `to`; returns false if it was not `from`. */
static inline bool pp_flush_change(uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong(&pp_flush.life, &from, to);
}

#endif
