/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what pyprof_labels keeps for threads, with or without Python. */
#ifndef PP_CONTEXT_THREAD_LABELS_H
#define PP_CONTEXT_THREAD_LABELS_H

#include "context.h"

/* Reads the labels that the thread has set by pyprof_labels. Returns false if it never had any. async-signal-safe. */
bool pp_thread_labels_read(const struct pp_context_reader *reader, struct pp_context *context);

#endif
