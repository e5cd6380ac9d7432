/* The loop of the flush thread: what is due, and when. And the words by which the loop and the functions that make the
 * thread, wait for it and end it (lifecycle.h) know of each other: all that other threads may read of it. */
#ifndef PP_FLUSH_LOOP_H
#define PP_FLUSH_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PP_FLUSH_STACK_SIZE (256u << 10)

/* lifecycle.c says what the thread is to do (NONE, RUNS, PAUSES, LEAVES, STOPS), loop.c what it has done (NEEDED, LEFT,
 * DONE). */
enum pp_flush_life {
    PP_FLUSH_NONE,
    PP_FLUSH_LEFT,   /* it has ended for good, the process goes on */
    PP_FLUSH_NEEDED, /* in the child of fork until the functions that fork make it; while it is paused */
    PP_FLUSH_RUNS,   /* and from here on */
    PP_FLUSH_PAUSES, /* it is to end, to be made again */
    PP_FLUSH_LEAVES, /* it is to write the rest and end */
    PP_FLUSH_STOPS,  /* it is to write the rest: the process ends */
    PP_FLUSH_DONE,   /* it has */
};

extern struct pp_flush_thread {
    _Atomic uint32_t life;    /* futex, enum pp_flush_life */
    _Atomic uint32_t answers; /* futex: how often it has written what was asked for */
    _Atomic int tid;          /* 0: it has not begun */
    /* When it was waited for in vain: since when it had not moved, and what it had used, plus one; 0: it was not. */
    _Atomic uint64_t stuck_since_ns, stuck_at_ns;
    /* It stays in the program's table of descriptors: the main thread ends. */
    _Atomic bool shares_descriptors;
    /* The process's clock at the last flush, as cpu_ns of the account; 0 while a file says that the process goes on,
     * which exec has to change. */
    _Atomic uint64_t flushed_cpu_ns;
    /* fork_gate.c's. Futexes: the forks that are under way, of all threads; our thread is inside the gate, or is about
     * to be. */
    _Atomic uint32_t forks, inside;
} pp_flush;

/* The thread's start routine. */
void *pp_flush_loop(void *argument);

/* Changes its life; false if that is not what it was. */
static inline bool pp_flush_change(uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong(&pp_flush.life, &from, to);
}

#endif
