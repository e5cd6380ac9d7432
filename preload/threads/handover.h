/* SPDX-License-Identifier: Apache-2.0 */
/* Waits until a signal of ours can be the program's: events have ended, threads that believe to block the signal do so,
 * and no thread has one of ours pending. Up to Linux 6.12 the last tick of a timer that was deleted still comes, and an
 * event signals until the flush thread has closed it.
 *
 * The wait counts turns, not time: on a slow or full machine every thread has its turns later. It ends in vain only if
 * a thread cannot run at all (a debugger holds it, a file system hangs), or waits for the caller itself. */
#ifndef PP_THREADS_HANDOVER_H
#define PP_THREADS_HANDOVER_H

#include <stdbool.h>

/* Asks the threads that have still to follow our signal and are running. A call that waits would end with EINTR. Flush
 * thread only. */
void pp_handover_ask_running(void);

/* Waits until `signal`, which our timers use no more, can be the program's. The calling thread has its signals held
 * back: its own pending ones are the caller's concern. False: in vain, a thread may have one of ours pending. */
bool pp_handover_wait(int signal);

/* Checks for a thread in pp_handover_wait whether one of our signals is pending. Flush thread only: its descriptors are
 * its own. */
void pp_handover_answer(void);

#endif
