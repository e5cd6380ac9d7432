/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the sums of one process: where every nanosecond of its CPU clock went. */
#ifndef PT_LOG_ACCOUNTING_H
#define PT_LOG_ACCOUNTING_H

#include <stdint.h>

#include "../../preload/common/log_format.h"
#include "cursor.h"

/* Fields that hold one varint: their name in enum pp_account_key and in the struct. The first list grows while a
 * process runs: of two accounts of it, the later one includes the earlier one. */
#define PT_ACCOUNT_GROWING(X)                                                                                          \
    X(CPU_NS, cpu_ns)                                                                                                  \
    X(SAMPLED_NS, sampled_ns)                                                                                          \
    X(UNSAMPLED_NS, unsampled_ns)                                                                                      \
    X(LOST_SAMPLES, lost_samples)                                                                                      \
    X(LOST_NS, lost_ns)                                                                                                \
    X(OWN_NS, own_ns)                                                                                                  \
    X(THREAD_EXIT_NS, thread_exit_ns)                                                                                  \
    X(SAMPLES, samples)                                                                                                \
    X(HANDLER_COUNT, handler_count)                                                                                    \
    X(HANDLER_SUM_NS, handler_sum_ns)                                                                                  \
    X(VOLUNTARY_SWITCHES, voluntary_switches)                                                                          \
    X(INVOLUNTARY_SWITCHES, involuntary_switches)                                                                      \
    X(MINOR_FAULTS, minor_faults)                                                                                      \
    X(MAJOR_FAULTS, major_faults)                                                                                      \
    X(ESTIMATED_NS, estimated_ns)                                                                                      \
    X(NOT_SELECTED_NS, not_selected_ns)                                                                                \
    X(NOT_SELECTED, not_selected)                                                                                      \
    X(OTHER_LABELS_NS, other_labels_ns)                                                                                \
    X(OTHER_LABELS, other_labels)                                                                                      \
    X(UNEVEN_NS, uneven_ns)
#define PT_ACCOUNT_OTHERS(X)                                                                                           \
    X(END_UNIX_NS, end_unix_ns)                                                                                        \
    X(WALL_NS, wall_ns)                                                                                                \
    X(PENDING_NS, pending_ns)                                                                                          \
    X(BEFORE_START_NS, before_start_ns)                                                                                \
    X(CHILDREN_NS, children_ns)                                                                                        \
    X(THREADS, threads)                                                                                                \
    X(EXITED_THREADS, exited_threads)                                                                                  \
    X(HANDLER_MAX_NS, handler_max_ns)                                                                                  \
    X(STACK_BYTES, stack_bytes)                                                                                        \
    X(REMOVED_FILES, removed_files)                                                                                    \
    X(REMOVED_BYTES, removed_bytes)                                                                                    \
    X(MAPPED_BYTES, mapped_bytes)                                                                                      \
    X(MOST_MAPPED_BYTES, most_mapped_bytes)

/* The meaning of the fields is in enum pp_account_key; times are nanoseconds.
 * cpu = sampled + unsampled + pending + lost + own + thread_exit + difference. */
struct pt_accounting {
#define X(key, field) uint64_t field;
    PT_ACCOUNT_GROWING(X)
    PT_ACCOUNT_OTHERS(X)
#undef X
    int64_t difference_ns;
    uint64_t handler_histogram[PP_HANDLER_BUCKETS];
    uint64_t reasons[PP_REASON_COUNT];
};

/* Reads the payload of an ACCOUNTING block. False when it is malformed; what was read until then stays. */
bool pt_accounting_read(struct pt_accounting *accounting, struct pt_cursor payload);

/* Adds the account of another process to *sum; its wall clock and end are the largest. */
void pt_accounting_add(struct pt_accounting *sum, const struct pt_accounting *more);

/* Returns what a process used between two accounts of it. What was pending in the earlier account is not subtracted:
 * the later one counts it elsewhere. Fields that do not grow are those of the later account; no field is below 0. */
struct pt_accounting pt_accounting_between(const struct pt_accounting *earlier, const struct pt_accounting *later);

/* Returns the time in ns that the given share (0…1) of all handlers stayed below: the bucket's upper limit, or the
 * maximum if that is less; 0 if none ran. */
uint64_t pt_accounting_handler_quantile(const struct pt_accounting *accounting, double share);

/* Returns the mean of the handler's time in ns; 0 if none ran. */
uint64_t pt_accounting_handler_mean(const struct pt_accounting *accounting);

/* Returns the text of enum pp_reason, as users read it. */
const char *pt_reason_text(uint32_t reason);

#endif
