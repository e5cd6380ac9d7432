/* SPDX-License-Identifier: Apache-2.0 */
/* The gate: what the flush thread does inside libc or the loader, and forks, keep out of each other's way. */
#include "../base/lock.h"
#include "../modules/loaded_objects.h"
#include "lifecycle.h"
#include "loop.h"

/* The child of a fork in between would wait for the loader for ever. But the forking thread may itself hold the lock
 * that our thread waits for; not once our thread has it. */
#define FORK_WAIT_NS   500000000u
#define INSIDE_WAIT_NS 30000000000u
/* Our thread waits so long for forks under way before it lets others begin, and so long before it tries again. */
#define TURN_NS  20000000u
#define AGAIN_NS 100000000u

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
        atomic_store(&pp_flush.inside, 1);
        if (wait_for_none(&pp_flush.forks, TURN_NS))
            return;
        pp_fork_gate_leave();
        wait_for_none(&pp_flush.forks, AGAIN_NS);
    }
}

void pp_fork_gate_leave(void)
{
    atomic_store(&pp_flush.inside, 0);
    pp_wake_all(&pp_flush.inside);
}

void pp_fork_gate_fork_begins(void)
{
    for (;;) {
        bool had = wait_for_none(&pp_flush.inside, FORK_WAIT_NS) ||
                   (pp_loaded_objects_inside() && wait_for_none(&pp_flush.inside, INSIDE_WAIT_NS));
        atomic_fetch_add(&pp_flush.forks, 1);
        if (!had || !atomic_load(&pp_flush.inside))
            return;
        pp_fork_gate_fork_ends(); /* our thread came first */
    }
}

void pp_fork_gate_fork_ends(void)
{
    if (atomic_fetch_sub(&pp_flush.forks, 1) == 1)
        pp_wake_all(&pp_flush.forks);
}
