/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where functions begin in files without symbols, by the search table of .eh_frame_hdr. */
#ifndef PT_SYMBOLS_EH_FRAME_HDR_H
#define PT_SYMBOLS_EH_FRAME_HDR_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/* Sets *start to the start of the function that holds the address, both in the file's own terms. Returns false when the
 * file does not say. */
bool pt_eh_frame_function_start(Elf *elf, uint64_t address, uint64_t *start);

#endif
