/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the routes of aiohttp's server. */
#ifndef PP_CONTEXT_AIOHTTP_H
#define PP_CONTEXT_AIOHTTP_H

#include "context.h"

/* Finds where a request's match has its route, if that is a slot. For the flush thread. */
void pp_aiohttp_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_aiohttp_facts *facts);

/* Reads the path of the resource that was found for a request; context->identity stays 0 if none was.
 * async-signal-safe. */
void pp_aiohttp_read(const struct pp_context_reader *reader, uintptr_t request, struct pp_context *context);

#endif
