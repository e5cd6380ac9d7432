/* The interval as blocks of the log, and when a new segment begins. Flush thread only. */
#ifndef PP_FLUSH_LOG_H
#define PP_FLUSH_LOG_H

#include <stdbool.h>
#include <stdint.h>

#define PP_LOG_NOTES 8

/* Appends the interval and what it defines; when that fails, counts it as lost. own_ns: CPU of our threads.
 * final: the last one. */
void pp_log_write(uint64_t own_ns, uint64_t now_monotonic_ns, bool final);
/* A line for the log alone, written with the next interval. severity as in PP_BLOCK_NOTICE. Of more than
 * PP_LOG_NOTES between two writes the later ones are dropped. */
void pp_log_note(unsigned severity, const char *text);
/* A file has been begun. */
bool pp_log_begun(void);
/* The next write is the last one of this segment: its ids end with it. */
bool pp_log_full(void);
/* In the child of fork: the parent's file is none of ours any more. */
void pp_log_after_fork(void);

#endif
