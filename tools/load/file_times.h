/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which files can have anything of a time, before they are read. */
#ifndef PT_LOAD_FILE_TIMES_H
#define PT_LOAD_FILE_TIMES_H

#include "files.h"

/* Returns whether the file may have something of [from, to), in unix ns: its process began before that ends, and it was
 * written after that begins. A log is appended to at the end of each interval. */
bool pt_file_may_have(const struct pt_file *file, uint64_t from, uint64_t to);

/* Returns from when times before the end count: now if a process of the files runs, else when the last of them was last
 * seen, by its log; 0: there is nothing in the logs. Few of the logs are read: those that were written last. */
uint64_t pt_files_end(const struct pt_files *files);

#endif
