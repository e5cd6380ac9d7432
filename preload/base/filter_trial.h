/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out in a child whether a seccomp filter that is older than the program would kill it for our system calls. */
#ifndef PP_BASE_FILTER_TRIAL_H
#define PP_BASE_FILTER_TRIAL_H

#include <stdbool.h>

/* Whether a filter would kill this process for being profiled. If so, it becomes silent and warns. At start-up. */
bool pp_filter_forbids(void);

#endif
