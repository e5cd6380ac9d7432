/* SPDX-License-Identifier: Apache-2.0 */
/* Finds all files that a request means. */
#ifndef PT_LOAD_FIND_FILES_H
#define PT_LOAD_FIND_FILES_H

#include "files.h"

/* Adds the files of the request's paths; without paths those of PYPROF_OUT or ./pyprof.out. Returns false after a
 * message if there is nothing to read. *files starts as {0}; call pt_files_free in either case. */
bool pt_files_find(struct pt_files *files, const struct pt_load_request *request);

#endif
