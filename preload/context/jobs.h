/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the job of a queue and the test of pytest that the running thread or task is for, by the frames of what runs
 * them (rows of frameworks/sources.c). */
#ifndef PP_CONTEXT_JOBS_H
#define PP_CONTEXT_JOBS_H

#include "context.h"

/* Puts the innermost job and the innermost test into the ring. Returns false if it has no room. async-signal-safe;
 * needs slot->scratch with the resolved frames and the awaiters. */
bool pp_jobs_put(const struct pp_context_reader *reader, const struct pp_python_stack *stack, uint32_t *known);

#endif
