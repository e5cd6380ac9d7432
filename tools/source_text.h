/* The source of a Python function as it is on this machine, when it may be taken for what ran. */
#ifndef PP_TOOLS_SOURCE_TEXT_H
#define PP_TOOLS_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

enum pp_source_state {
    PP_SOURCE_READ,
    PP_SOURCE_MISSING, /* not readable here, or never a file ("<string>") */
    PP_SOURCE_NEWER,   /* the file was written after the profile began */
    PP_SOURCE_OTHER,   /* the function is not where the profile has it */
};

struct pp_source {
    enum pp_source_state state;
    char *text; /* NULL unless PP_SOURCE_READ */
    size_t size;
};

/* The caller ends it with pp_source_free. */
struct pp_source pp_source_read(const struct pp_profile *profile, const struct pp_function *function);
void pp_source_free(struct pp_source *source);

/* The text of a line, from 1 on, without its end; NULL when there is no such line. */
const char *pp_source_line(const struct pp_source *source, uint32_t line, size_t *length);

/* Appends what stands below a line's text to mark the bytes from `start` up to `end`: white space, then a '^' for each
 * column that they take on a terminal. False, and nothing appended, when they do not look like an expression. */
bool pp_source_carets(struct pp_buffer *out, const char *line, size_t length, size_t start, size_t end);

#endif
