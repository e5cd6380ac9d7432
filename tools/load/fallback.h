/* Finds logs in the fallback directory, where the library writes if it cannot write to PYPROF_OUT: $TMPDIR/pyprof-UID.
 */
#ifndef PT_LOAD_FALLBACK_H
#define PT_LOAD_FALLBACK_H

#include "files.h"

/* Returns the fallback directory of this user. The caller frees. */
char *pt_fallback_directory(void);

/* Adds the logs in the fallback directories, of this user and of others, that belong to runs found in directories. If
 * run is not NULL, also adds that run's logs written since since_ns, whether or not the run was found. */
void pt_files_add_fallbacks(struct pt_files *files, const char *run, uint64_t since_ns);

#endif
