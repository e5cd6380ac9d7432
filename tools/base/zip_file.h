/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file out of a zip archive, as Python imports from one (zipapp, PEX, pyspark.zip). */
#ifndef PT_BASE_ZIP_FILE_H
#define PT_BASE_ZIP_FILE_H

#include <stddef.h>

/* Returns the bytes of the file `name` in the archive, which end with no NUL, and *size, their number; NULL if the file
 * is not there, has more than `most` bytes, or is packed in a way that Python does not read either. Of the archive, an
 * open file, only its directory and this file are read. The caller frees the bytes. */
char *pt_zip_read(int archive, const char *name, size_t most, size_t *size);

#endif
