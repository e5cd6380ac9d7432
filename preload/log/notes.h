/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps lines for the log until the next interval is written. Flush thread only. */
#ifndef PP_LOG_NOTES_H
#define PP_LOG_NOTES_H

#include "blocks.h"

/* Adds a line that the log alone gets. severity as in PP_BLOCK_NOTICE. Of more than eight between two writes the later
 * ones are dropped. */
void pp_note(unsigned severity, const char *text);
/* Appends the lines as blocks, and the messages of stderr that this segment lacks: files outlive terminals. */
void pp_notes_write(struct pp_buffer *out, uint32_t *sequence);
/* A segment begins: it has none of the messages yet. */
void pp_notes_begin_segment(void);
/* The lines are on the disk. */
void pp_notes_written(void);
/* Leaves the lines to the parent. Runs in the child of fork. */
void pp_notes_after_fork(void);

#endif
