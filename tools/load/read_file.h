/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PT_LOAD_READ_FILE_H
#define PT_LOAD_READ_FILE_H

#include <stddef.h>

/* Reads a whole regular file, or its first `most` bytes, and sets *size (0 for an empty file). Returns NULL with errno
 * on failure: a pipe or a device, which debug information and command lines may name, is EINVAL. The caller frees. */
void *pt_read_file(const char *path, size_t most, size_t *size);

#endif
