/* What CPython 3.13 and later say about themselves, at the beginning of _PyRuntime (_Py_DebugOffsets), against the row
 * of our own table. */
#ifndef PP_PYTHON_OFFSETS_H
#define PP_PYTHON_OFFSETS_H

#include "../capture/python_layout.h"
#include <stddef.h>

#define PP_FIRST_MINOR_WITH_OFFSETS 13

/* Bytes that the table takes in this minor version, 0 if that has none or is not known. */
size_t pp_python_offsets_size(unsigned minor);

/* Whether the interpreter of this version (PY_VERSION_HEX) with this table is a free-threaded one; false when the table
 * is not that of the version. `published`: that many bytes, aligned to 8. */
bool pp_python_offsets_free_threaded(const void *published, uint32_t version);

/* Puts the published places of what lies in the thread, interpreter and runtime state into the row, and compares the
 * others, on which unpublished ones depend. NULL when all is well, else what is not, and the row is not to be used.
 * Pure, any context. */
const char *pp_python_offsets_apply(struct pp_python_layout *layout, const void *published, uint32_t version);

/* For 3.12, which publishes nothing: whether the collector of the main interpreter, as it lies in _PyRuntime until that
 * starts, is where the row says. False as well when it has started. `runtime`: that many bytes, aligned to 8. */
bool pp_python_offsets_fit_3_12(const struct pp_python_layout *layout, const void *runtime, size_t size);

#endif
