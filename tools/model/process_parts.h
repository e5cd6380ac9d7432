/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a process: its segments, by number. */
#ifndef PT_MODEL_PROCESS_PARTS_H
#define PT_MODEL_PROCESS_PARTS_H

#include "model.h"

/* Returns the part with this number, NULL if it was not read. */
struct pt_part *pt_part_of(const struct pt_process *process, uint64_t number);

/* Notes that this part was read; returns false if it was noted before. */
bool pt_note_part(struct pt_process *process, uint64_t number);

#endif
