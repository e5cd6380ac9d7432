/* What POSIX calls prepare, parent and child: our thread is outside the loader when a child is copied, and the child
 * begins a profile of its own, whose thread is made by the functions that fork (interpose/process.c). */
#ifndef PP_FORK_H
#define PP_FORK_H

#include <stdbool.h>

/* Whether this libc has atfork handlers. */
bool pp_fork_can_watch(void);
/* From now on. Once. */
bool pp_fork_watch(void);

#endif
