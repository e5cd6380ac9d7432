/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether frameworks that are known by their frames still have the functions that the frame rules are about
 * (capture/frame_rules.h). Flush thread only. */
#ifndef PP_LABELS_FRAME_SOURCES_H
#define PP_LABELS_FRAME_SOURCES_H

#include "../context/facts.h"

#define PP_FRAME_SOURCE_REMARK 120

/* Returns whether the row's functions are as they are known, as far as their modules are imported, and puts into the
 * remark which function is not, if one is not. A function that something has wrapped counts as known: its callers do
 * not matter. */
bool pp_frame_source_find(const struct pp_object_reader *reader, const uintptr_t *modules, const struct pp_source *row,
                          char remark[PP_FRAME_SOURCE_REMARK]);

#endif
