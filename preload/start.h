/* Decides whether and when to profile this process. */
#ifndef PP_START_H
#define PP_START_H

#include <stdint.h>

/* Finds new interpreters: the first one starts profiling, further ones are added. Call it when an interpreter starts;
 * `code` is an address in the interpreter's code. Normal context, any thread; cheap when nothing was loaded since. */
void pp_start(uintptr_t code);

/* Does what pp_start does, at any other moment: skips Python libraries that are loaded but not initialized. */
void pp_start_if_initialized(void);

/* Reads the environment into pp_config and exports PYPROF_OUT (made absolute) and PYPROF_RUN to descendants. A bad
 * value gets one line on stderr, and its default is used. Normal context, before other threads of ours exist. In
 * config.c. */
void pp_config_read(void);

#endif
