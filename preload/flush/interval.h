/* SPDX-License-Identifier: Apache-2.0 */
/* Does the steps of a flush: drains the rings of the handlers, aggregates the samples and appends an interval to the
 * log. Flush thread only, unless a function says otherwise. */
#ifndef PP_FLUSH_INTERVAL_H
#define PP_FLUSH_INTERVAL_H

#include "../common/log_format.h"
#include <stdbool.h>
#include <stdint.h>

/* Prepares the first interval; a flush thread that is made again goes on with its predecessor's interval. */
void pp_interval_start(void);
/* Refreshes the list of modules, empties the rings and publishes the unwind rows of what samples have met. final: see
 * pp_drain. */
void pp_interval_drain(bool final);
/* Finds the stack bounds of the threads whose handlers asked for them. */
void pp_interval_stacks(void);
/* Writes the samples so far between two flushes, in case the process is killed. Does nothing with many threads. */
void pp_interval_save(void);
/* Flushes: writes an interval if there is anything to write. end is PP_END_EXIT when the process or the flush thread
 * ends for good (CPU time of live threads since their last samples is then written as [unsampled]), PP_END_EXEC before
 * a call that may end the process, else PP_END_NOT. Returns as pp_threads_scan, which it calls. */
uint64_t pp_interval_flush(int flush_tid, enum pp_end_reason end);
/* Returns whether the process had used more CPU time than IDLE_NS (account.c) when the account was closed last. */
bool pp_interval_is_busy(void);
/* Compares the cost of the samples with the limit and lowers or raises the sampling rate. */
void pp_interval_review_cost(void);
/* Adds the CPU time of the ending flush thread to the account, when the process goes on. */
void pp_interval_stop(void);
/* Forgets the parent's unwritten samples and its file. Runs in the child's atfork handler. */
void pp_interval_after_fork(void);

#endif
