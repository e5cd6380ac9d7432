/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and changes the control file of a profile's directory (preload/common/control.h). */
#ifndef PT_LOAD_CONTROL_FILE_H
#define PT_LOAD_CONTROL_FILE_H

#include "../../preload/common/control.h"
#include "../base/memory.h"

/* Returns the text of the directory's control file; NULL with errno if it cannot be read (ENOENT: there is none). The
 * caller frees. */
char *pt_control_text(const char *directory);

/* Returns whether the directory's control file has a process of this kind take no samples now; process NULL: all that
 * start. */
bool pt_control_pauses(const char *directory, const struct pp_control_scope *process, bool starts_paused);
/* Appends the command that ends the pause of the directory. */
void pt_append_resume(struct pt_buffer *text, const char *directory);
/* Appends that the directory is paused, and what ends it. Returns false, and appends nothing, if it is not. */
bool pt_append_pause(struct pt_buffer *text, const char *directory);

/* Adds an order, in place of those that it makes void, and sets *written to what the new file says: processes that have
 * obeyed it say that in their logs. order NULL: only the time is new. Returns false after a message. */
bool pt_control_change(const char *directory, const struct pp_control_line *order, uint64_t *written);

#endif
