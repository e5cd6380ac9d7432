/* Text of a profile on a terminal. Names come from the profiled program and may hold anything. */
#ifndef PT_TOOLS_SHOWN_TEXT_H
#define PT_TOOLS_SHOWN_TEXT_H

#include "memory.h"

/* Appends so much of the text as fits into so many columns (an ellipsis shows that there was more), and of that nothing
 * that a terminal could obey or that changes the direction of what is around it. 0 columns: all of it. */
void pt_shown_text(struct pt_buffer *out, const char *text, uint32_t columns);

/* The columns that all of it takes. Characters are as wide as LC_CTYPE says. */
uint32_t pt_shown_width(const char *text);

#endif
