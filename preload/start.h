/* Whether and when to profile. */
#ifndef PP_START_H
#define PP_START_H

#include <stdint.h>

/* Finds interpreters that were not there before: with the first one profiling starts, the others are added. To be
 * called when an interpreter starts, `code` being an address in its code. Normal context, any thread; cheap when
 * nothing was loaded since. */
void pp_start(uintptr_t code);

/* The same at any other moment: libraries that are loaded, but not used as interpreters, are passed over. */
void pp_start_if_initialized(void);

/* config.c: reads the environment into pp_config and hands PYPROF_OUT (absolute) and PYPROF_RUN on to descendants. A
 * bad value is named in one line and its default used. Normal context, before other threads of ours exist. */
void pp_config_read(void);

#endif
