/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether and when to profile this process. */
#ifndef PP_START_H
#define PP_START_H

#include <stdbool.h>
#include <stdint.h>

/* Finds new interpreters: the first starts profiling, others are added. Call it when an interpreter starts;
 * `code` is an address in the interpreter's code. Normal context, any thread; cheap when nothing was loaded since. */
void pp_start(uintptr_t code);

/* Does what pp_start does, at any other moment: skips Python libraries that are loaded but not initialized. */
void pp_start_if_initialized(void);

/* Reads the environment into pp_config and exports PYPROF_OUT (made absolute) and PYPROF_RUN to descendants. A bad
 * value gets one line on stderr, and its default is used. Normal context, before other threads of ours exist. In
 * config.c. */
void pp_config_read(void);

/* Whether the program finds this library's functions and not those of another copy of it, under another path, which has
 * come first: both would profile the process. In api.c. */
bool pp_is_first_copy(void);

/* Installs our atfork handlers; returns false if libc refuses. They keep the flush thread out of the loader while a
 * child is copied, and begin a new profile in the child; its flush thread is made by the functions that fork
 * (interpose/process.c). Call once. In fork.c. */
bool pp_fork_watch(void);

#endif
