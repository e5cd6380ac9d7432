/* Files that somebody else may write while we have them mapped: a build that goes on, an upgrade. */
#ifndef PP_PROFILE_MAPPED_H
#define PP_PROFILE_MAPPED_H

#include <stdbool.h>
#include <sys/stat.h>

/* From now on, what is read of a mapped file behind an end that came nearer is zeros, and not the end of the program.
 * Until pp_mapped_changed, files are watched. */
void pp_mapped_begin(void);

/* This one too: it is about to be mapped. */
void pp_mapped_watch(const char *path, const struct stat *status);

/* Whether what was read since pp_mapped_begin may be another file's: one was cut, or written. One that was replaced is
 * as it was. */
bool pp_mapped_changed(void);

#endif
