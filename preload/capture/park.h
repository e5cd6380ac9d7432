/* The sleep of threads whose interpreter is finalized: why and when is told in ../park.h. */
#ifndef PP_CAPTURE_PARK_H
#define PP_CAPTURE_PARK_H

#include "slot.h"
#include <ucontext.h>

enum pp_parking {
    PP_PARK_NOT,
    PP_PARK_FINALIZED, /* the process is likely to end at once; for a short time */
    PP_PARK_EXIT,      /* it ends; but a destructor may wait for one of the threads: for a longer one */
};

/* Whether the thread is one of an interpreter's. async-signal-safe. */
bool pp_may_run_python(const struct pp_slot *slot);

/* If threads are to sleep, and this one may: sleeps. False if it may not, or need not. async-signal-safe; bounded by
 * pp_capture.parking_end_ns. */
bool pp_park_here(const struct pp_slot *slot, const ucontext_t *context);

#endif
