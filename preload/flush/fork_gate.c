/* SPDX-License-Identifier: Apache-2.0 */
#include "fork_gate.h"
#include "../base/loader_lock.h"
#include "../base/lock.h"
#include "state.h"

/* The child of a fork in between would wait for the loader for ever. But the forking thread may itself hold the lock
 * that our thread waits for; not once our thread has it. Each time that our thread is inside is waited for by itself:
 * it may have left and be in there again for another reason. */
#define FORK_WAIT_NS   500000000u
#define INSIDE_WAIT_NS 30000000000u
/* Our thread lets forks that wait begin, waits so long for those under way before it lets others begin, and so long
 * before it tries again. */
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

/* Whether our thread is no longer inside as it was when the gate had this value. */
static bool wait_to_leave(uint32_t gate, uint64_t ns)
{
    uint64_t end = pp_sys_clock_ns(CLOCK_MONOTONIC) + ns, now;
    while (atomic_load(&pp_flush.gate) == gate) {
        if ((now = pp_sys_clock_ns(CLOCK_MONOTONIC)) >= end)
            return false;
        pp_wait_on(&pp_flush.gate, gate, end - now);
    }
    return true;
}

static void decrement(_Atomic uint32_t *word)
{
    if (atomic_fetch_sub(word, 1) == 1)
        pp_wake_all(word);
}

static bool is_inside(uint32_t gate)
{
    return gate % 2 == 1;
}

/* Whether our thread has left. If not, it waits for a thread of the program that has the loader: forks wait once for
 * that, however many come meanwhile. */
static bool wait_for_loader(uint32_t gate)
{
    if (atomic_load(&pp_flush.gate_in_vain) != gate && wait_to_leave(gate, FORK_WAIT_NS))
        return true;
    atomic_store(&pp_flush.gate_in_vain, gate);
    return pp_loader_is_visited() && wait_to_leave(gate, INSIDE_WAIT_NS);
}

/* False: our thread is inside for so long that it may be waiting for the calling thread. */
static bool wait_until_outside(void)
{
    uint32_t gate;
    bool outside = true;
    if (!is_inside(atomic_load(&pp_flush.gate)))
        return true;
    atomic_fetch_add(&pp_flush.forks_waiting, 1);
    while (outside && is_inside(gate = atomic_load(&pp_flush.gate)))
        outside = wait_for_loader(gate);
    decrement(&pp_flush.forks_waiting);
    return outside;
}

void pp_fork_gate_enter(void)
{
    for (;;) {
        wait_for_none(&pp_flush.forks_waiting, TURN_NS);
        atomic_fetch_add(&pp_flush.gate, 1);
        if (wait_for_none(&pp_flush.forks, TURN_NS))
            return;
        pp_fork_gate_leave();
        wait_for_none(&pp_flush.forks, AGAIN_NS);
    }
}

void pp_fork_gate_leave(void)
{
    atomic_fetch_add(&pp_flush.gate, 1);
    if (atomic_load(&pp_flush.forks_waiting)) /* what waits has said so before it read the gate */
        pp_wake_all(&pp_flush.gate);
}

void pp_fork_gate_fork_begins(void)
{
    for (;;) {
        bool outside = wait_until_outside();
        atomic_fetch_add(&pp_flush.forks, 1);
        if (!outside || !is_inside(atomic_load(&pp_flush.gate)))
            return;
        pp_fork_gate_fork_ends(); /* our thread came first */
    }
}

void pp_fork_gate_fork_ends(void)
{
    decrement(&pp_flush.forks);
}
