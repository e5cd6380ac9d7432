/* The way to the directory that files go to. */
#ifndef PP_LOG_DIRECTORY_H
#define PP_LOG_DIRECTORY_H

#include <errno.h>
#include <stdbool.h>

#define PP_DIRECTORY_OF_ANOTHER ELOOP
#define PP_DIRECTORY_OTHER_ROOT EXDEV

/* Notes the root directory. When Python appears: a program that changes it later is not followed. */
void pp_directory_remember_root(void);

/* Opens a directory with O_PATH; with `make` it and those above it are made, for the user alone. Returns a descriptor
 * or -errno: -PP_DIRECTORY_OF_ANOTHER when another user has put a link or a directory of the path where all may write,
 * -PP_DIRECTORY_OTHER_ROOT when the program has changed its root directory: nothing of ours belongs into its jail.
 * Flush thread only. */
int pp_directory_open(const char *path, bool make);

#endif
