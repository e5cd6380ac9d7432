#ifndef PP_CAPTURE_SAMPLE_H
#define PP_CAPTURE_SAMPLE_H

#include "capture.h"

/* Writes both stacks of the interrupted thread into its ring, or counts a loss in the slot. cpu_ns: the thread's CPU
 * clock at the start of the handler. async-signal-safe; bounded by PP_MAX_*. */
void pp_take_sample(struct pp_slot *slot, const ucontext_t *context, uint64_t cpu_ns);

/* Counts a sample at this reading of the thread's CPU clock as lost. async-signal-safe. */
void pp_lose_sample(struct pp_slot *slot, uint64_t cpu_ns);

#endif
