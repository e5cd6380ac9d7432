/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files. */
#ifndef PT_BASE_OUTPUT_H
#define PT_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "memory.h"

/* pt_write_file, or calls write() with stdout if path is NULL or "-", as pt_is_stdout says. */
bool pt_write_output(const char *path, void (*write)(void *data, FILE *out), void *data);
bool pt_is_stdout(const char *path);

/* Returns a stream into the buffer, which is empty; what was written is there when the stream is closed. */
FILE *pt_buffer_stream(struct pt_buffer *buffer);

/* Says on stderr that the file has been written; nothing if pt_is_stdout. */
void pt_say_written(const char *path);

/* Returns whether a path has this extension (".pb.gz") and a name before it. */
bool pt_has_extension(const char *path, const char *extension);

/* Appends an argument as a shell wants it, on one line: control characters as bash and zsh take them, $'\n'. */
void pt_append_argument(struct pt_buffer *line, const char *argument);

#endif
