/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what handlers need to take the ways of the rows of pp_sources. Flush thread only. */
#ifndef PP_LABELS_FIND_SOURCES_H
#define PP_LABELS_FIND_SOURCES_H

#include "../context/facts.h"

/* Fills in facts->found, spans, endpoints and sources by the dicts of the imported modules (source_modules.h). */
void pp_sources_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_context_facts *facts);

#endif
