/* What is done at a flush, step by step: takes what the handlers have left, aggregates it and appends it to the log.
 * Flush thread only. */
#ifndef PP_FLUSH_INTERVAL_H
#define PP_FLUSH_INTERVAL_H

#include "../common/log_format.h"
#include <stdbool.h>
#include <stdint.h>

/* When a flush thread begins. */
void pp_interval_start(void);
/* Finds new modules; cheap when there are none. */
void pp_interval_modules(void);
/* Finds the stacks of threads whose handlers asked for it. */
void pp_interval_stacks(void);
/* Writes what there is between two flushes, in case the process is killed. */
void pp_interval_save(void);
/* end: PP_END_EXIT when the process ends: what live threads have used since their last samples is written as
 * [unsampled]. PP_END_EXEC when it may end. Returns whether pp_threads_scan is to be called again soon. */
bool pp_interval_flush(int own_tid, enum pp_end_reason end);
/* Fewer samples from now on where they cost too much. */
void pp_interval_judge_cost(void);
/* When a flush thread ends and the process goes on: what the thread used stays in the account. */
void pp_interval_stop(void);
/* In the child of fork: what the parent's threads left and had not written, and its file, are the parent's. */
void pp_interval_after_fork(void);

#endif
