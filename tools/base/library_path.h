/* SPDX-License-Identifier: Apache-2.0 */
/* Finds libpyprof.so. */
#ifndef PT_BASE_LIBRARY_PATH_H
#define PT_BASE_LIBRARY_PATH_H

#include <stdbool.h>

#define PT_LIBRARY "libpyprof.so"

/* Returns the path of this program, "" when the kernel does not say. The caller frees. */
char *pt_own_path(void);

/* Returns the path of the library that belongs to this program; NULL after a line on stderr. The caller frees. */
char *pt_find_library(void);

/* Returns whether LD_PRELOAD can hold this path: it separates libraries by spaces and colons. */
bool pt_fits_preload(const char *library);
/* Has what this program starts preload the library. If its path has a space, the loader finds it in LD_LIBRARY_PATH,
 * whose directories may have spaces. */
void pt_preload(const char *library);

#endif
