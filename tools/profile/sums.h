/* The sums of a process, from those of its parts (segments), which may come in any order. */
#ifndef PP_PROFILE_SUMS_H
#define PP_PROFILE_SUMS_H

#include "model.h"

/* Notes that this part has been read; false when it was there already. */
bool pp_sums_note_part(struct pp_process *process, uint64_t number);

/* Whether no later part has been noted. */
bool pp_sums_is_latest(const struct pp_process *process, const struct pp_segment *segment);

/* Takes in what a segment ends with, as of now. What it makes of the whole is seen after pp_profile_close_sums. */
void pp_sums_take(struct pp_process *process, const struct pp_segment *segment);

#endif
