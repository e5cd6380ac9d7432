/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the source of a function on this machine, if it is likely to be what ran. */
#ifndef PT_LOAD_SOURCE_TEXT_H
#define PT_LOAD_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../model/model.h"

enum pt_source_state {
    PT_SOURCE_READ,
    PT_SOURCE_MISSING, /* not readable here, or never a file ("<string>") */
    PT_SOURCE_NEWER,   /* the file was written after the profile began or, of native code, after its library */
    PT_SOURCE_OTHER,   /* the function is not where the profile has it */
};

struct pt_source {
    enum pt_source_state state;
    char *text; /* NULL unless PT_SOURCE_READ */
    size_t size;
};

/* The caller ends it with pt_source_free. */
struct pt_source pt_source_read(const struct pt_profile *profile, const struct pt_function *function);
/* Reads the file at the path, a string of the profile, if all of its Python functions that ran are likely to be where
 * the profile has them; of native code it may be the source. The caller ends it with pt_source_free. */
struct pt_source pt_source_of_file(const struct pt_profile *profile, uint32_t path);
/* Returns whether the text defines a function of that name at that line; of code that has no name ("<genexpr>"),
 * whether it may begin there. */
bool pt_source_defines(const struct pt_source *source, const char *qualname, uint32_t first_line);
/* Returns whether the path is that of a Python file. Functions of another file, as of a template of Jinja's, are of
 * code that an engine made of it. */
bool pt_source_is_python(const char *path);
/* Returns why there is no text, in words; "" where there is. path: of the file. */
const char *pt_source_state_text(enum pt_source_state state, const char *path);
void pt_source_free(struct pt_source *source);

/* Returns the text of a line, from 1 on, without its end; NULL if there is no such line. */
const char *pt_source_line(const struct pt_source *source, uint32_t line, size_t *length);

/* Appends the marks below a line that point to its bytes from `start` up to `end`: white space, then a '^' for each
 * column that they take on a terminal. False, and nothing appended, when they cannot be an expression. */
bool pt_source_carets(struct pt_buffer *out, const char *line, size_t length, size_t start, size_t end);

#endif
