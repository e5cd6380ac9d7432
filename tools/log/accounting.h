/* Keeps the sums of one process: where every nanosecond of its CPU clock went. */
#ifndef PT_LOG_ACCOUNTING_H
#define PT_LOG_ACCOUNTING_H

#include <stdint.h>

#include "../../preload/common/log_format.h"
#include "cursor.h"

/* Fields are those of enum pp_account_key; times in nanoseconds.
 * cpu = sampled + unsampled + pending + lost + own + thread_exit + difference. */
struct pt_accounting {
    uint64_t end_unix_ns, wall_ns, cpu_ns, sampled_ns, unsampled_ns, pending_ns, lost_samples, lost_ns, own_ns,
        thread_exit_ns;
    int64_t difference_ns;
    uint64_t before_start_ns, samples, threads, exited_threads, handler_count, handler_sum_ns, handler_max_ns,
        stack_bytes, voluntary_switches, involuntary_switches, minor_faults, major_faults;
    uint64_t estimated_ns; /* part of sampled_ns: ends of short threads, credited to stacks of threads like them */
    uint64_t removed_files, removed_bytes;    /* old profiles, of any process, for PYPROF_MAX_DISK */
    uint64_t mapped_bytes, most_mapped_bytes; /* of the library's own data */
    uint64_t handler_histogram[PP_HANDLER_BUCKETS];
    uint64_t reasons[PP_REASON_COUNT];
};

/* Reads the payload of an ACCOUNTING block. False when it is malformed; what was read until then stays. */
bool pt_accounting_read(struct pt_accounting *accounting, struct pt_cursor payload);

/* Adds up processes; wall clock and end are the latest. */
void pt_accounting_add(struct pt_accounting *sum, const struct pt_accounting *one);

/* What lies between two accounts of one process, the earlier one without what was pending then: that has got its place
 * in the later one. Wall clock, threads and what else does not add up is the later one's. 0 where it would be less. */
struct pt_accounting pt_accounting_between(const struct pt_accounting *earlier, const struct pt_accounting *later);

/* Handler time in ns that the given share (0…1) of all handlers stayed below: the bucket's upper limit, or the
 * maximum when that is less. 0 when none ran. */
uint64_t pt_accounting_handler_quantile(const struct pt_accounting *accounting, double share);

/* Mean of the handler's time in ns; 0 when none ran. */
uint64_t pt_accounting_handler_mean(const struct pt_accounting *accounting);

/* The text of enum pp_reason, as users read it. */
const char *pt_reason_text(uint32_t reason);

#endif
