/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the sums of a process from those of its parts (segments), which may come in any order. */
#ifndef PT_MODEL_SUMS_H
#define PT_MODEL_SUMS_H

#include "model.h"

/* Stores the segment's present sums as those of its part. pt_profile_close_sums then updates the process. */
void pt_sums_accept(struct pt_process *process, const struct pt_segment *segment);

#endif
