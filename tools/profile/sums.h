/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the sums of a process from those of its parts (segments), which may come in any order. */
#ifndef PT_PROFILE_SUMS_H
#define PT_PROFILE_SUMS_H

#include "model.h"

/* Notes that this part was read; returns false if it was noted before. */
bool pt_sums_note_part(struct pt_process *process, uint64_t number);

/* Stores the segment's present sums as those of its part. pt_profile_close_sums then updates the process. */
void pt_sums_take(struct pt_process *process, const struct pt_segment *segment);

#endif
