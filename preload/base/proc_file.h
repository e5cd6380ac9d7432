/* Reads small files, mostly of /proc. */
#ifndef PP_BASE_PROC_FILE_H
#define PP_BASE_PROC_FILE_H

#include <stddef.h>

/* Reads at most `size` bytes. Returns how many there were, 0 if the file cannot be read. Normal context, no libc. */
size_t pp_read_file(const char *path, char *buffer, size_t size);

/* Reads /proc/self/task/TID/leaf like pp_read_file. */
size_t pp_read_task_file(int tid, const char *leaf, char *buffer, size_t size);

/* Returns the kernel's number of threads of this process, 0 if unknown. async-signal-safe. */
unsigned pp_kernel_thread_count(void);

#endif
