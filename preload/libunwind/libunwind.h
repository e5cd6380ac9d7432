/* SPDX-License-Identifier: Apache-2.0 */
/* libunwind/ is PYPROF_UNWIND=libunwind: native stacks by the system's libunwind instead of our own rows. */
#ifndef PP_LIBUNWIND_H
#define PP_LIBUNWIND_H

#include <stdbool.h>

/* Loads the library, tries it on this stack and publishes it to handlers (pp_capture.libunwind). If that fails it
 * warns, and rows are used. Normal context, once, before the first timer. */
void pp_libunwind_load(void);

/* Warns when handlers have given the library up, as the program has closed its descriptors. Flush thread. */
void pp_libunwind_poll(void);

/* Clears its cache after something was unloaded. Any thread; does nothing without libunwind. */
void pp_libunwind_forget(void);

/* Called around a fork: no handler of another thread may be inside libunwind while the process is copied, or its lock
 * would stay held in the child. Handlers walk by rows meanwhile. In the order of the atfork handlers, any thread. */
void pp_libunwind_before_fork(void);
void pp_libunwind_after_fork(bool in_child);

#endif
