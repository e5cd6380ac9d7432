/* SPDX-License-Identifier: Apache-2.0 */
/* Maps a line of the code that Jinja has made of a template to the template's line, by the text debug_info among the
 * globals of that code: "1=12&3=15": from line 12 of the code on it is line 1 of the template, from 15 on line 3. */
#ifndef PP_PYTHON_TEMPLATE_LINES_H
#define PP_PYTHON_TEMPLATE_LINES_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
