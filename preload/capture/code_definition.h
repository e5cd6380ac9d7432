/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what the flush thread needs of a code object into the ring: its names and its line table, and
 * of code that Jinja has made which lines of the template it is of. */
#ifndef PP_CAPTURE_CODE_DEFINITION_H
#define PP_CAPTURE_CODE_DEFINITION_H

#include "code_object.h"
#include "objects.h"

/* Writes the definition of a cache entry, for the frame that executes the code, into the ring: once per code object, by
 * safe copies where it may not be alive, which is where the reader is not direct. Fills in what it says of the
 * function. False: the ring has no room. async-signal-safe. */
bool pp_code_define(const struct pp_object_reader *reader, struct pp_slot *slot, const struct pp_code *code,
                    const struct pp_python_frame *frame, uint32_t entry, struct pp_code_entry *made);

#endif
