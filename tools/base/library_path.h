/* Finds libpyprof.so. */
#ifndef PT_BASE_LIBRARY_PATH_H
#define PT_BASE_LIBRARY_PATH_H

#define PT_LIBRARY "libpyprof.so"

/* Returns what to write into LD_PRELOAD: the path of the library that belongs to this program, or its bare name when
 * the loader finds it. NULL after a line on stderr. The caller frees. */
char *pt_find_library(void);

#endif
