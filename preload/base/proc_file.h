/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small files and directories, mostly of /proc. */
#ifndef PP_BASE_PROC_FILE_H
#define PP_BASE_PROC_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Reads at most `size` bytes. Returns how many there were, 0 if the file cannot be read. Normal context, no libc. */
size_t pp_read_file(const char *path, char *buffer, size_t size);

/* Reads /proc/self/task/TID/leaf like pp_read_file. */
size_t pp_read_task_file(int tid, const char *leaf, char *buffer, size_t size);

/* Returns the text of a field of proc(5)'s /proc/PID/stat from the third on; NULL if there is none. */
const char *pp_stat_field(const char *stat, unsigned number);

/* Returns a mask of signals in the text of a /proc/PID/status, like SigBlk; 0 if it is not there. */
uint64_t pp_status_mask(const char *status, const char *name);

/* Calls `each` for the first `most` entries of an open directory, from where it was read to. Flush thread, or at start.
 */
void pp_each_entry(int directory, unsigned most, void (*each)(const char *name, void *argument), void *argument);

/* Returns the kernel's number of threads of this process, 0 if unknown. async-signal-safe. */
unsigned pp_kernel_thread_count(void);

#endif
