/* The sums of a process, from those of its parts (segments), which may come in any order. */
#ifndef PT_VIEW_SUMS_H
#define PT_VIEW_SUMS_H

#include "model.h"

/* Notes that this part has been read; false when it was there already. */
bool pt_sums_note_part(struct pt_process *process, uint64_t number);

/* Whether no later part has been noted. */
bool pt_sums_is_latest(const struct pt_process *process, const struct pt_segment *segment);

/* Takes in what a segment ends with, as of now. What it makes of the whole is seen after pt_profile_close_sums. */
void pt_sums_take(struct pt_process *process, const struct pt_segment *segment);

#endif
