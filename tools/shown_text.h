/* Text of a profile on a terminal. Names come from the profiled program and may hold anything. */
#ifndef PP_TOOLS_SHOWN_TEXT_H
#define PP_TOOLS_SHOWN_TEXT_H

#include "memory.h"

/* Appends so much of the text as fits into so many columns (an ellipsis shows that there was more), and of that nothing
 * that a terminal could obey or that changes the direction of what is around it. 0 columns: all of it. */
void pp_shown_text(struct pp_buffer *out, const char *text, uint32_t columns);

/* The columns that all of it takes. Characters are as wide as LC_CTYPE says. */
uint32_t pp_shown_width(const char *text);

#endif
