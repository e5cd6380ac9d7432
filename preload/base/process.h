/* Which process this is: the profiled one, or a copy of it that goes without (the child of vfork, of a bare clone). */
#ifndef PP_PROCESS_H
#define PP_PROCESS_H

#include <stdbool.h>

/* From here on this process is the profiled one: at start, and in the child's atfork handler. */
void pp_process_begins(void);

/* Whether it is. async-signal-safe. */
bool pp_process_is_profiled(void);

#endif
