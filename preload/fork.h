/* Installs our atfork handlers. They keep the flush thread out of the loader while a child is copied, and begin a new
 * profile in the child; its flush thread is made by the functions that fork (interpose/process.c). */
#ifndef PP_FORK_H
#define PP_FORK_H

#include <stdbool.h>

/* Returns whether this libc has __register_atfork. */
bool pp_fork_can_watch(void);
/* Installs the handlers; returns false if libc refuses. Call once. */
bool pp_fork_watch(void);

#endif
