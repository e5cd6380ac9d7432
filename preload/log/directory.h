/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the directory that files are written to. */
#ifndef PP_LOG_DIRECTORY_H
#define PP_LOG_DIRECTORY_H

#include <errno.h>
#include <stdbool.h>

#define PP_DIRECTORY_OF_ANOTHER ELOOP
#define PP_DIRECTORY_OTHER_ROOT EXDEV

/* Notes the root directory. When Python appears: no file is written under a root that the program changes to later. */
void pp_directory_remember_root(void);

/* Opens a directory with O_PATH; with `make`, missing parts of the path are made, for the user alone. Returns a
 * descriptor or -errno: -PP_DIRECTORY_OF_ANOTHER when a link or directory of the path is another user's and all may
 * write there, -PP_DIRECTORY_OTHER_ROOT when the program has changed its root directory. Flush thread only. */
int pp_directory_open(const char *path, bool make);

#endif
