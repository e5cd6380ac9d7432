/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what is in context variables, and what the thread itself keeps: the span, labels, Flask's endpoint. */
#ifndef PP_CONTEXT_VARIABLES_H
#define PP_CONTEXT_VARIABLES_H

#include "context.h"

/* Reads them as pp_contexts_read. async-signal-safe. */
bool pp_variables_read(const struct pp_context_reader *reader, uint32_t *known);
/* Reads the part of them that the thread itself keeps. async-signal-safe. */
bool pp_variables_read_thread(const struct pp_context_reader *reader, uint32_t *known);

/* Reads the endpoint of the request that the Python module counts; context->identity stays 0 if there is none.
 * async-signal-safe. */
void pp_variables_endpoint(const struct pp_context_reader *reader, struct pp_context *context);

#endif
