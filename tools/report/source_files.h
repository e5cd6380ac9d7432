/* SPDX-License-Identifier: Apache-2.0 */
/* The source files of a profile: how to name them, and which used most CPU time. */
#ifndef PT_REPORT_SOURCE_FILES_H
#define PT_REPORT_SOURCE_FILES_H

#include "../model/model.h"

/* Whole components: "app.py" is the end of "/srv/app.py", not of "/srv/myapp.py". */
bool pt_is_end_of_path(const char *path, const char *end);

/* Returns the shortest end of the path (a string) that no other file of the profile has, from a file's name on. It
 * points into the path. */
const char *pt_shortest_path(const struct pt_profile *profile, uint32_t path);

/* Prints to stderr the files with most CPU time in their functions, native code that they call included: those of the
 * application first. */
void pt_print_hot_files(const struct pt_profile *profile);

#endif
