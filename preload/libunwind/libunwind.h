/* PYPROF_UNWIND=libunwind: native stacks by the system's libunwind instead of our own rows. */
#ifndef PP_LIBUNWIND_LIBUNWIND_H
#define PP_LIBUNWIND_LIBUNWIND_H

#include <stdbool.h>

/* Loads it, tries it on the own stack and publishes it to handlers (pp_capture.libunwind). Says in one line why not, if
 * that fails: rows are used then. Normal context, once, before the first timer. */
void pp_libunwind_load(void);

/* Says in one line when handlers have given it up, as the program has closed its descriptors. Flush thread. */
void pp_libunwind_poll(void);

/* What was unloaded is no longer what its cache says. Any thread; nothing without libunwind. */
void pp_libunwind_forget(void);

/* Around a fork: no handler of another thread is inside libunwind while the process is copied, or its lock would be
 * held in the child for ever. Handlers walk by rows meanwhile. In the order of the atfork handlers, any thread. */
void pp_libunwind_before_fork(void);
void pp_libunwind_after_fork(bool in_child);

#endif
