/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes frames and paths as people read them:
 * Python "qualname (path.py:N)", native "symbol (libfoo.so)", pseudo-frames "[gc]". A native function without a name is
 * "0x1234 (libfoo.so)", by its start in the file's own terms; where that is unknown, or with lines, by the address.
 * Where its callers are known (pt_load_request) it is "deflate → 0x4970 (libz.so.1)".
 * With lines a native frame is "symbol (foo.c:N)" if its source is known. A function that the compiler inlined reads
 * "symbol (inlined) (libfoo.so)".
 * Code that a JIT made and named reads "name (jit)".
 */
#ifndef PT_MODEL_FRAME_TEXT_H
#define PT_MODEL_FRAME_TEXT_H

#include "model.h"

/* The module name of code that a JIT made and named. */
#define PT_JIT_MODULE "jit"

/* Returns the part of the path after site-packages/, dist-packages/, lib/pythonX.Y/ or cwd/, else all of it. The result
 * points into path. */
const char *pt_short_path(const char *path, const char *cwd);

/* Returns the part of the path after the last '/'; it points into path. */
const char *pt_base_name(const char *path);

/* Appends a native symbol as people read it: demangled, without the suffixes that compilers add to parts and copies
 * of a function (.cold, .constprop.0 …). */
void pt_symbol_text(struct pt_buffer *text, const char *symbol);

/* Appends the name of a native frame, or its address, and " (inlined)" if it is. */
void pt_native_name(struct pt_buffer *text, const struct pt_profile *profile, const struct pt_frame *frame, bool lines);

/* Appends the frame's text; N is the function's first line or, with lines, the line being executed. */
void pt_frame_text(struct pt_buffer *text, const struct pt_profile *profile, uint32_t frame, bool lines);

/* Returns the string number of each frame's text, by frame; frames with equal texts have equal numbers. The caller
 * frees. */
uint32_t *pt_frame_texts(struct pt_profile *profile, bool lines);

#endif
