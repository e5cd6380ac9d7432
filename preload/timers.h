/* Per-thread CPU-time timers. Any thread may arm any other by its tid (design D1). Normal context. */
#ifndef PP_TIMERS_H
#define PP_TIMERS_H

#include "capture/slot.h"
#include <stdbool.h>

enum pp_first_expiry {
    /* A thread that begins now: at the first kernel tick that it runs into, which comes at a random moment of its life.
     * Most short threads would end before a random moment of the period. */
    PP_FIRST_TICK,
    /* One that has been running: uniformly random in (0, period]. */
    PP_FIRST_RANDOM,
};

/* Creates the slot's timer on its tid's CPU clock. The interval is the period give or take 5 %, another one for each
 * thread, so that work in step with the period is not always met at the same point (a sample weighs what the thread
 * burned, so the sums do not care). Returns 0 or an errno. Stores slot->timer. */
int pp_timer_arm(struct pp_slot *slot, enum pp_first_expiry first);

/* Deletes the slot's timer, if it has one. Not in the child of fork: ids are not inherited and may be new ones. */
void pp_timer_disarm(struct pp_slot *slot);

#endif
