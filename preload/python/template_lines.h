/* SPDX-License-Identifier: Apache-2.0 */
/* Maps a line of the code that Jinja has made of a template to the template's line, by the text debug_info among the
 * globals of that code: "1=12&3=15": from line 12 of the code on it is line 1 of the template, from 15 on line 3. */
#ifndef PP_PYTHON_TEMPLATE_LINES_H
#define PP_PYTHON_TEMPLATE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#define PP_MAKO_PATH 1024u /* characters */

struct pp_template_lines {
    const char *text; /* NULL: the code is of no template; its bytes are untrusted */
    uint32_t size;
    bool cut;     /* there was more */
    bool extends; /* the template extends another one, whose code its own calls in a line that the text leaves out */
};

/* Returns whether the text is one that Jinja makes, or its beginning: pairs of numbers. */
bool pp_template_lines_valid(const char *text, uint32_t size);

/* Returns the line of the template, the first one for code that is before all of them; 0: unknown. It is what Jinja
 * itself says of a line, but for the call of the template that is extended, which Jinja takes for a part of what comes
 * before it. A line of other code is returned as it is. */
uint32_t pp_template_line(const struct pp_template_lines *lines, uint32_t line);

/* What Mako writes to the end of its code's files; without a module_directory it has none, and the code its own lines.
 */
struct pp_mako_map {
    struct pp_template_lines lines;
    uint16_t path[PP_MAKO_PATH]; /* the template's, as UTF-16 */
    uint32_t path_length;
};

/* Reads it from a text, which may be anything; the lines take the place of Mako's. False: it is not whole. */
bool pp_mako_map_parse(struct pp_mako_map *map, char *text);
/* Reads it from a file, if Mako may have made it: by the function's name, or as no module's name has a dot. The lines
 * last until the next call. Flush thread. */
bool pp_mako_map_read(struct pp_mako_map *map, const char *qualname, const char *path);

#endif
