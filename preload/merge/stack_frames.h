/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the log's frames of native addresses and of Python frames; each returns PP_HIDDEN_FRAME for what is not to be
 * shown, and 0 without memory. Flush thread only. */
#ifndef PP_MERGE_STACK_FRAMES_H
#define PP_MERGE_STACK_FRAMES_H

#include "../log/tables.h"
#include "code_objects.h"

uint32_t pp_stack_native_frame(struct pp_tables *tables, uintptr_t address);

/* innermost: the frame is the innermost one of its stack. */
uint32_t pp_stack_python_frame(struct pp_tables *tables, struct pp_slot *slot, uint32_t epoch,
                               const struct pp_record_frame *frame, bool innermost);

/* The same for a frame that is not the innermost one, by what it executes. */
uint32_t pp_stack_place_frame(struct pp_tables *tables, struct pp_code_place place);

/* Returns the frame that names a reason (enum pp_reason) why frames are missing. */
uint32_t pp_stack_reason_frame(struct pp_tables *tables, unsigned reason);

#endif
