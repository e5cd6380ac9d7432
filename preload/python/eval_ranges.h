/* Which code is the interpreter's native eval function: pp_capture.eval_ranges, for handlers and for the merge.
 * Flush thread only. */
#ifndef PP_FLUSH_EVAL_RANGES_H
#define PP_FLUSH_EVAL_RANGES_H

#include <stdint.h>

/* A native frame in which an entry marker was found: its function is a part of the eval function. */
void pp_eval_learn(uintptr_t address);

/* Finds the parts of every interpreter's eval function by its symbol and its jumps. Cheap when they are known. */
void pp_eval_find(void);

#endif
