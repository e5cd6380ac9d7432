/* Small files of /proc. */
#ifndef PP_BASE_PROC_FILE_H
#define PP_BASE_PROC_FILE_H

#include <stddef.h>

/* The first `size` bytes of a small file (of /proc, mostly). Returns how many there were, 0 if it cannot be read. The
 * descriptor is not inherited and closed again. Normal context, no libc. */
size_t pp_read_file(const char *path, char *buffer, size_t size);

/* The same for /proc/self/task/TID/leaf. */
size_t pp_read_task_file(int tid, const char *leaf, char *buffer, size_t size);

/* Threads of the process as the kernel counts them, 0 if unknown. async-signal-safe. */
unsigned pp_kernel_thread_count(void);

#endif
