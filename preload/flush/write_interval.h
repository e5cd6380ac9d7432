/* Writes the interval (interval_data.h) into the log's segment, as blocks; when a new segment begins. Flush thread
 * only.
 */
#ifndef PP_FLUSH_WRITE_INTERVAL_H
#define PP_FLUSH_WRITE_INTERVAL_H

#include "../common/log_format.h"
#include <stdbool.h>
#include <stdint.h>

#define PP_WRITE_NOTES 8

/* Appends the interval and what it defines; when that fails, counts it as lost. own_ns: CPU of our threads.
 * end: PP_END_NOT unless it is the last one, or may be. */
void pp_write_interval(uint64_t own_ns, uint64_t now_monotonic_ns, enum pp_end_reason end);
/* A line for the log alone, written with the next interval. severity as in PP_BLOCK_NOTICE. Of more than
 * PP_WRITE_NOTES between two writes the later ones are dropped. */
void pp_write_note(unsigned severity, const char *text);
/* A file has been begun. */
bool pp_write_has_begun(void);
/* Before an interval is taken in: when the file is no longer as it was left, its ids end here and another file begins.
 * Users move and remove files, processes change their user. */
void pp_write_check_file(void);
/* The next write is the last one of this segment: its ids end with it. */
bool pp_write_is_full(void);
/* In the child of fork: the file, and what was written and noted, are the parent's. */
void pp_write_after_fork(void);

#endif
