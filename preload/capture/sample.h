#ifndef PP_CAPTURE_SAMPLE_H
#define PP_CAPTURE_SAMPLE_H

#include "capture.h"

/* Both stacks of the calling thread, which the context of a signal interrupts, into its ring; or a loss counted in the
 * slot. cpu_ns: the thread's CPU clock at the handler's start. async-signal-safe; bounded by PP_MAX_*. */
void pp_take_sample(struct pp_slot *slot, const ucontext_t *context, uint64_t cpu_ns);

/* Counts a sample, at that reading of the thread's CPU clock, as lost. async-signal-safe. */
void pp_lose_sample(struct pp_slot *slot, uint64_t cpu_ns);

#endif
