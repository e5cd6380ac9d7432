/* The gate: what the flush thread does inside libc or the loader, and forks, keep out of each other's way. */
#include "../base/lock.h"
#include "../modules/loaded_objects.h"
#include "lifecycle.h"

/* The child of a fork in between would wait for the loader for ever. But the forking thread may itself hold the lock
 * that our thread waits for; not once our thread has it. */
#define FORK_WAIT_NS   500000000u
#define INSIDE_WAIT_NS 30000000000u
/* Forks that come one after the other wait so long for those that are under way, so that our thread has its turn; one
 * that takes longer holds up no other. */
#define TURN_NS  20000000u
#define AGAIN_NS 100000000u

static _Atomic uint32_t forks;  /* futex: so many are under way, of all threads */
static _Atomic uint32_t inside; /* futex: our thread is, or is about to be */

/* Whether the word has changed to 0. */
static bool wait_for_none(_Atomic uint32_t *word, uint64_t ns)
{
    uint64_t end = pp_sys_clock_ns(CLOCK_MONOTONIC) + ns, now;
    uint32_t value;
    while ((value = atomic_load(word)) != 0) {
        if ((now = pp_sys_clock_ns(CLOCK_MONOTONIC)) >= end)
            return false;
        pp_wait_on(word, value, end - now);
    }
    return true;
}

void pp_fork_gate_enter(void)
{
    for (;;) {
        atomic_store(&inside, 1);
        if (wait_for_none(&forks, TURN_NS))
            return;
        pp_fork_gate_leave();
        wait_for_none(&forks, AGAIN_NS);
    }
}

void pp_fork_gate_leave(void)
{
    atomic_store(&inside, 0);
    pp_wake_all(&inside);
}

void pp_fork_gate_fork_begins(void)
{
    for (;;) {
        bool had = wait_for_none(&inside, FORK_WAIT_NS) ||
                   (pp_loaded_objects_inside() && wait_for_none(&inside, INSIDE_WAIT_NS));
        atomic_fetch_add(&forks, 1);
        if (!had || !atomic_load(&inside))
            return;
        pp_fork_gate_fork_ends(); /* our thread came first */
    }
}

void pp_fork_gate_fork_ends(void)
{
    if (atomic_fetch_sub(&forks, 1) == 1)
        pp_wake_all(&forks);
}

void pp_fork_gate_after_fork(void)
{
    atomic_store(&forks, 0);
    atomic_store(&inside, 0);
}
