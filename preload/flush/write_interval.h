/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the interval (account/interval_data.h) as blocks into the log, and decides when a segment ends. Flush thread
 * only. */
#ifndef PP_FLUSH_WRITE_INTERVAL_H
#define PP_FLUSH_WRITE_INTERVAL_H

#include "../common/log_format.h"
#include <stdbool.h>
#include <stdint.h>

/* Appends the interval and what it defines. Returns false when that fails, and counts it as lost. profiler_threads_ns:
 * CPU of our threads. end: PP_END_NOT unless this interval is the last, or may be. last: pp_segment_append. */
bool pp_write_interval(uint64_t profiler_threads_ns, uint64_t now_monotonic_ns, enum pp_end_reason end, bool last);
/* Whether a file has been begun. */
bool pp_write_has_begun(void);
/* Returns the directory of the files: PYPROF_OUT, or where they are instead. */
const char *pp_write_directory(void);
/* Ends the file and its ids if it is no longer as it was left: users move and remove files, processes change their
 * user. Call before an interval is taken in. */
void pp_write_check_file(void);
/* Whether the next write is the last of this segment: its ids end with it. */
bool pp_write_is_full(void);
/* Leaves the file, and what was written and noted, to the parent. Runs in the child of fork. */
void pp_write_after_fork(void);

#endif
