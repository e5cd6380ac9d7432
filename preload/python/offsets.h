/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the offsets that CPython 3.13 and later publish (_Py_DebugOffsets, in _PyRuntime) with our own row. */
#ifndef PP_PYTHON_OFFSETS_H
#define PP_PYTHON_OFFSETS_H

#include "../capture/python_layout.h"
#include <stddef.h>

#define PP_FIRST_MINOR_WITH_OFFSETS 13

/* Size of the published table in this minor version, 0 if it has none or is unknown. */
size_t pp_python_offsets_size(unsigned minor);

/* Whether the table is a free-threaded interpreter's; false also if it is not of this version (PY_VERSION_HEX).
 * published: pp_python_offsets_size() bytes, aligned to 8. */
bool pp_python_offsets_free_threaded(const void *published, uint32_t version);

/* Copies the published offsets in the thread, interpreter and runtime state into the row, and compares the others, on
 * which unpublished offsets depend. Returns NULL, or why the row must not be used. Pure, any context. */
const char *pp_python_offsets_apply(struct pp_python_layout *layout, const void *published, uint32_t version);

/* For 3.12, which publishes nothing: whether the main interpreter's collector, in its initial state in _PyRuntime, is
 * where the row says. False also once the interpreter has started. runtime: `size` bytes, aligned to 8. */
bool pp_python_offsets_fit_3_12(const struct pp_python_layout *layout, const void *runtime, size_t size);

#endif
