/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts text to a number of columns where that hurts least: in the middle, with an ellipsis. The text is shown as
 * pt_shown_text shows it. 0 columns: all of it. */
#ifndef PT_BASE_FIT_H
#define PT_BASE_FIT_H

#include "memory.h"

void pt_fit_text(struct pt_buffer *out, const char *text, uint32_t columns);

/* Cuts a frame's text (frame_text.h), "name (path:line)" or "name (library)": first the path, then the name, never the
 * line number or the end of the path. */
void pt_fit_frame(struct pt_buffer *out, const char *text, uint32_t columns);

/* Cuts a frame's text where its name tells more than its place, "rank → price_of (path:line)": directories go first,
 * then the place, then the name. */
void pt_fit_name(struct pt_buffer *out, const char *text, uint32_t columns);

#endif
