/* A seccomp filter that was there before the program may kill it for what we do: that is tried in a child. */
#ifndef PP_BASE_FILTER_TRIAL_H
#define PP_BASE_FILTER_TRIAL_H

#include <stdbool.h>

/* Whether a filter would kill this process for being profiled; then it is silent from here on, which is said. At
 * start-up. */
bool pp_filter_forbids(void);

#endif
