/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the offsets that CPython 3.13 and later publish (_Py_DebugOffsets, in _PyRuntime) with our own row. */
#ifndef PP_PYTHON_OFFSETS_H
#define PP_PYTHON_OFFSETS_H

#include "layout.h"
#include <stddef.h>

/* Size of the table that the version of this row publishes, 0 if it has none. */
size_t pp_python_offsets_size(const struct pp_python_layout *layout);

/* Whether the table is a free-threaded interpreter's; false also if it is not of this version (PY_VERSION_HEX).
 * published: pp_python_offsets_size() bytes, aligned to 8. */
bool pp_python_offsets_free_threaded(const void *published, uint32_t version);

/* Copies the published offsets in the thread, interpreter and runtime state into the row, and compares the others, on
 * which unpublished offsets depend. Returns NULL, or why the row must not be used. Pure, any context. */
const char *pp_python_offsets_apply(struct pp_python_layout *layout, const void *published, uint32_t version);

/* Returns whether the main interpreter's collector, in its initial state in _PyRuntime, is where the row says. Only for
 * a row whose state_varies: that of 3.12. Returns false also once the interpreter has started. runtime: `size` bytes,
 * aligned to 8. */
bool pp_python_offsets_fit_collector(const struct pp_python_layout *layout, const void *runtime, size_t size);

#endif
