/* SPDX-License-Identifier: Apache-2.0 */
/* Finds names, source lines and inlined functions of native frames. */
#ifndef PT_SYMBOLS_H
#define PT_SYMBOLS_H

#include "../model/model.h"

/*
 * Looks up all native frames, module by module, in the files that debug_files.h chooses, and fetches debug information
 * from the servers of DEBUGINFOD_URLS for the modules that use most of the CPU. Frames get their source line, those
 * without a symbol its name, and functions that are inlined at their addresses become frames of their own: nodes get
 * new numbers. What is not found stays unknown, but may get the offset from where its function begins.
 */
void pt_symbols_resolve(struct pt_profile *profile);

/* Finds only the names of frames without a symbol: nodes stay as they are, and nothing is fetched. */
void pt_symbols_resolve_names(struct pt_profile *profile);

#endif
