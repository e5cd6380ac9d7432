/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the traces that the program kept (PYPROF_TRACES), one by one, beside those that are summed up by interval.
 * A request says whether it wants them, and of which trace (request.h).
 *
 * Each has PT_STATE_TRACED, an interval that ends when the sample was taken and is as long as its CPU time, and labels
 * that begin with its ids as W3C Trace Context writes them: PT_TRACE_ID, then PT_SPAN_ID.
 */
#ifndef PT_MODEL_TRACES_H
#define PT_MODEL_TRACES_H

#include "id_map.h"

#define PT_TRACE_ID "trace_id"
#define PT_SPAN_ID  "span_id"
/* Labels that these are. */
#define PT_TRACE_LABELS 2u

/* Counts the sample for its trace, and adds it to the profile if the request wants it. */
void pt_traces_accept(struct pt_id_map *ids, const struct pt_segment *segment, const struct pt_log_traced *from);

/* Leaves to the samples that are summed up what the single ones do not have: no CPU time is there twice. What damage or
 * --from and --to have taken from the sums, single samples lose. */
void pt_traces_set_apart(struct pt_profile *profile);

/* Returns whether the profile has the trace that is asked for, or any if none is. False after a message. */
bool pt_traces_found(const struct pt_profile *profile);

/* Returns PYPROF_TRACES as it held for the first process that had it; "" if none had. */
const char *pt_traces_setting(const struct pt_profile *profile);

/* Returns the id of the trace that --trace asks for, whole if it was kept. */
const char *pt_trace_asked_for(const struct pt_profile *profile);

/* Returns the trace with most CPU time; NULL if no trace was kept. */
const struct pt_trace *pt_costliest_trace(const struct pt_profile *profile);

/* The ids of a sample that has PT_STATE_TRACED: strings. */
struct pt_trace_ids {
    uint32_t trace, span;
};
struct pt_trace_ids pt_trace_ids_of(const struct pt_profile *profile, const struct pt_sample *sample);

/* Returns when such a sample was taken; of any other the end of its interval, 0 without one. */
uint64_t pt_sample_unix_ns(const struct pt_profile *profile, const struct pt_sample *sample);

#endif
