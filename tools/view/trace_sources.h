/* SPDX-License-Identifier: Apache-2.0 */
/* Tells why no trace was kept although PYPROF_TRACES asked for some. */
#ifndef PT_VIEW_TRACE_SOURCES_H
#define PT_VIEW_TRACE_SOURCES_H

#include "../model/model.h"

/* Appends why, as of what the library says of a process (PT_NONE: of all) of a run (a string; PT_NONE: of any); nothing
 * if PYPROF_TRACES was not set, if the profile has a trace, or if it may have some that were not loaded. */
void pt_trace_sources_append(struct pt_buffer *text, const struct pt_profile *profile, uint32_t process, uint32_t run);

#endif
