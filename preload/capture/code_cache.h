/* SPDX-License-Identifier: Apache-2.0 */
/* Caches, for each thread, the code objects that the flush thread already knows. Samples refer to a code object by the
 * index of its cache entry. At first sight, or when another code object has taken its address, the handler copies the
 * names and the line table into the ring as a definition of the entry. An eviction costs only another definition, so
 * the cache has a fixed size. */
#ifndef PP_CAPTURE_CODE_CACHE_H
#define PP_CAPTURE_CODE_CACHE_H

#include "capture.h"

/* Fills scratch->resolved[] for all frames of the stack. The first `doubtful` of them may belong to a torn chain, so
 * their code objects are read through safe copies, in batches; the others' code objects must be alive. Returns
 * PP_REASON_NONE; PYTHON_TORN if a frame points to no code object, or its instruction is outside it; LOST_RING_FULL if
 * the ring has no room for a definition. interpreter: the PyInterpreterState of the frames, which is read through a
 * safe copy. has_gil: no other thread can change a code object meanwhile: its file name is the one thing that may be
 * replaced (_imp._fix_co_filename), and is read through a safe copy otherwise, as are the names of its locals.
 * async-signal-safe; needs slot->scratch.
 */
enum pp_reason pp_code_resolve(const struct pp_python *python, uintptr_t interpreter, struct pp_slot *slot,
                               uint32_t frames, uint32_t doubtful, bool has_gil);

/* Begins a sample, before pp_code_resolve_more; pp_code_resolve does so itself. async-signal-safe. */
void pp_code_begin(const struct pp_python *python, uintptr_t interpreter, struct pp_slot *slot);
/* Makes the frames that are resolved next another interpreter's; an interrupted one's may not follow.
 * async-signal-safe. */
void pp_code_enter(const struct pp_python *python, uintptr_t interpreter, struct pp_slot *slot);
/* Resolves frames that are not of the sample's own stack, for a record that precedes the sample. A direct reader's code
 * objects are alive; others are copied. What cannot be resolved becomes PP_ENTRY_CUT. Returns false if the ring has no
 * room. async-signal-safe; needs slot->scratch. */
bool pp_code_resolve_more(const struct pp_object_reader *reader, struct pp_slot *slot,
                          const struct pp_python_frame *frames, uint32_t count, struct pp_record_frame *resolved);

/* Returns whether the code object was resolved since pp_code_begin; then sets what its function is. async-signal-safe.
 */
bool pp_code_role(const struct pp_slot *slot, uintptr_t code, struct pp_frame_role *role);

/* Prefetches what pp_code_resolve reads of a code object; any address will do. async-signal-safe. */
void pp_code_fetch(const struct pp_python *python, const struct pp_slot *slot, uintptr_t code);

/* Whether the code objects of the first `frames` frames are in this thread's cache. async-signal-safe. */
bool pp_code_known(const struct pp_slot *slot, uint32_t frames);

#endif
