/* SPDX-License-Identifier: Apache-2.0 */
/* Obeys the control file of the profile's directory (common/control.h), and PYPROF_START.
 *
 * While the process is paused (pp_capture.stopped) no thread has a timer or an event, and the flush thread does nothing
 * but check the file each second and hand out the CPU time as [paused] each ten. The flag is inherited by the children
 * of fork, so that their first thread gets no timer either. */
#ifndef PP_FLUSH_CONTROL_H
#define PP_FLUSH_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* Begins as the file and PYPROF_START say, before the first thread has a timer. Once, in the thread that starts
 * profiling. */
void pp_control_begin(void);
/* Reads the file if it is another than before, and does what it says at this time: with each flush, and when it said
 * (CLOCK_MONOTONIC): each second of a pause, and when a time ends that the file has set. *changed: something else holds
 * from here on, which the log is to say. Flush thread only. */
uint64_t pp_control_poll(uint64_t now_monotonic_ns, bool *changed);
/* Runs in the child of fork: the file may name it. */
void pp_control_after_fork(void);

#endif
