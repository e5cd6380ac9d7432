/* Files that somebody else may write while we have them mapped: a build that goes on, an upgrade. */
#ifndef PT_PROFILE_MAPPED_H
#define PT_PROFILE_MAPPED_H

#include <stdbool.h>
#include <sys/stat.h>

/* From now on, what is read of a mapped file behind an end that came nearer is zeros, and not the end of the program.
 * Until pt_mapped_changed, files are watched. */
void pt_mapped_begin(void);

/* This one too: it is about to be mapped. */
void pt_mapped_watch(const char *path, const struct stat *status);

/* Whether what was read since pt_mapped_begin may be another file's: one was cut, or written. One that was replaced is
 * as it was. */
bool pt_mapped_changed(void);

#endif
