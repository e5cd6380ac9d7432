/* SPDX-License-Identifier: Apache-2.0 */
/* Prints every block of a log with its ids resolved, for work on its writer or its reader. */
#ifndef PT_REPORT_DEBUG_LOG_H
#define PT_REPORT_DEBUG_LOG_H

#include <stdio.h>

#include "../log/reader.h"

/* Prints all segments of a file, which may be damaged: what cannot be read is named by its place and counted. Returns
 * PT_READ_OK, or why no segment begins in the data. */
enum pt_read_result pt_debug_log(FILE *out, const void *data, size_t size);

#endif
