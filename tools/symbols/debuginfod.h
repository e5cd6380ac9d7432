/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches debug information of the modules that use most of the CPU: from debuginfod servers, if DEBUGINFOD_URLS names
 * any, with its own client library, loaded if it is there. */
#ifndef PT_SYMBOLS_DEBUGINFOD_H
#define PT_SYMBOLS_DEBUGINFOD_H

#include "../model/model.h"

struct pt_debuginfod;

/* Returns NULL without servers. pt_debuginfod_free, which takes NULL too, ends it. */
struct pt_debuginfod *pt_debuginfod_new(const struct pt_profile *profile);
void pt_debuginfod_free(struct pt_debuginfod *servers);

/* Puts the debug information of a module where debug_files.h finds it. False if the module uses too little CPU for
 * that, or the servers have not got it. */
bool pt_debuginfod_fetch(struct pt_debuginfod *servers, uint32_t module);

#endif
