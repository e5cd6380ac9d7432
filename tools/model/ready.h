/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds when a process was ready, for --from ready: at its first request, job or test; a process that has none, at its
 * first sample outside of imports and of the interpreter's start.
 *
 * A log has no times within its intervals. The interval in which a process became ready is divided by what ran instead:
 * imports and the interpreter's start are before, all else is after.
 */
#ifndef PT_MODEL_READY_H
#define PT_MODEL_READY_H

#include "model.h"

/* Take in what the log has of the process, in any order. */
void pt_ready_samples(struct pt_ready *ready, const struct pt_segment *segment, const struct pt_log_samples *samples);
void pt_ready_requests(struct pt_ready *ready, uint64_t start_unix_ns);

/* Returns the beginning of the interval in which the process became ready; UINT64_MAX if it never did. */
uint64_t pt_ready_unix_ns(const struct pt_ready *ready);

/* Returns whether the process became ready in this interval. */
bool pt_ready_in(const struct pt_ready *ready, const struct pt_interval *interval);

/* Returns whether a sample of that interval is of the time before. */
bool pt_is_of_start(const struct pt_segment *segment, const struct pt_log_sample *sample);

#endif
