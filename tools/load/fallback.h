/* Where the library writes when it cannot write its directory: $TMPDIR/pyprof-UID. */
#ifndef PT_PROFILE_FALLBACK_H
#define PT_PROFILE_FALLBACK_H

#include "files.h"

/* Of this user. The caller frees. */
char *pt_fallback_directory(void);

/* Adds the rest of the runs that were found in directories: what their processes have written there, as this user or
 * another. And what a run has written there since a moment, whether it was found or not; run NULL: of no other. */
void pt_files_add_fallbacks(struct pt_files *files, const char *run, uint64_t since_ns);

#endif
