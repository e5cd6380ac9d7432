/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the native eval functions' code (pp_capture.eval_ranges) for handlers and the merge. Flush thread only. */
#ifndef PP_PYTHON_EVAL_RANGES_H
#define PP_PYTHON_EVAL_RANGES_H

#include <stdint.h>

/* Adds the function at this address to the eval function's parts: its native frame held an entry marker. */
void pp_eval_learn(uintptr_t address);

/* Finds the parts of every interpreter's eval function by its symbol and its jumps. Cheap once they are known. */
void pp_eval_find(void);

#endif
