/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file out of a zip archive, as Python imports from one (zipapp, PEX, pyspark.zip). */
#ifndef PT_BASE_ZIP_FILE_H
#define PT_BASE_ZIP_FILE_H

#include <stddef.h>

/* Returns the bytes of the file `name` in the archive, which end with no NUL, and *size, their number; NULL if the file
 * is not there, has more than `most` bytes, or is packed in a way that Python does not read either. Whatever the
 * archive says, it is only read within its size. The caller frees the bytes. */
char *pt_zip_read(const void *archive, size_t archive_size, const char *name, size_t most, size_t *size);

#endif
