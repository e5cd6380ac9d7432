/* The gate: what the flush thread does inside libc or the loader, and a fork, keep out of each other's way. */
#include "../lock.h"
#include "flush.h"
#include "loaded_objects.h"

/* The child of a fork in between would wait for the loader for ever. But the forking thread may itself hold the lock
 * that our thread waits for; not once our thread has it. */
#define FORK_WAIT_NS   500000000u
#define INSIDE_WAIT_NS 30000000000u

static struct pp_lock gate;

void pp_flush_gate_enter(void)
{
    pp_lock_take(&gate);
}

bool pp_flush_gate_enter_to_fork(void)
{
    return pp_lock_take_within(&gate, FORK_WAIT_NS) ||
           (pp_loaded_objects_inside() && pp_lock_take_within(&gate, INSIDE_WAIT_NS));
}

void pp_flush_gate_leave(void)
{
    pp_lock_drop(&gate);
}

void pp_flush_gate_reset(void)
{
    pp_lock_reset(&gate);
    pp_loaded_objects_after_fork();
}
