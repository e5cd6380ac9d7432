/* Holds the threads of a finalized interpreter back until the process is gone.
 *
 * Up to 3.13 a thread that waits for the GIL looks every 5 ms whether its interpreter is finalizing, and leaves. If it
 * looks when the interpreter's memory is gone already, it crashes; that takes some luck as long as the process ends 0.1
 * ms later, and none with the some ms of our last flush in between. So these threads are made to sleep, from the time
 * on when the interpreter has finished its work but still has its memory. */
#ifndef PP_PARK_H
#define PP_PARK_H

#include "capture/park.h"

/* Makes the threads that wait for the GIL sleep on if an interpreter of this process is finalizing, or is no more.
 * async-signal-safe, from the thread that does it. */
void pp_park_python_threads(enum pp_parking why);

#endif
