/* SPDX-License-Identifier: Apache-2.0 */
/* Reads code objects of the interrupted thread. By their words, and in interpreters that number no versions by a digest
 * of their contents, code objects are told apart that occupy the same addresses one after another. A code object of a
 * frame that is executed, or of a direct reader, is loaded as it is: it keeps its name and line table, which never
 * change. */
#ifndef PP_CAPTURE_CODE_OBJECT_H
#define PP_CAPTURE_CODE_OBJECT_H

#include "capture.h"
#include "safe_read.h"

struct pp_code {
    uintptr_t filename, qualname, line_table, units;
    uint32_t first_line, first_traceable;
    uint32_t version; /* 0: the interpreter numbers no versions, and contents are compared: */
    uint32_t content; /* digest of its name and line table */
};
_Static_assert(sizeof(struct pp_code) <= PP_CODE_READ_MAX, "fits into the scratch");

static inline uint64_t pp_mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * 0x9E3779B97F4A7C15u;
    return a ^ (a >> 29);
}

/* Reads all by which a code object differs from others, of itself or its copy. async-signal-safe. */
static inline void pp_code_read_identity(const struct pp_python_layout *layout, const void *from, struct pp_code *code)
{
    code->filename = pp_word(from, layout->code.filename);
    code->qualname = pp_word(from, layout->code.qualname);
    code->line_table = pp_word(from, layout->code.line_table);
    code->first_line = pp_u32(from, layout->code.first_line);
    code->version = layout->unique_version ? pp_u32(from, layout->code.version) : 0;
}

/* Computes the digest of a live code object, whose name and line table are alive too. async-signal-safe. */
uint32_t pp_code_content_digest(const struct pp_python_layout *layout, const struct pp_code *code);

/* Reads a code object or its copy; false if it is not a code object. async-signal-safe. */
bool pp_code_read(const struct pp_python *python, const void *from, struct pp_code *code);

/* Does so, with its digest, for what may be no code object at all. bytes: for its copy, PP_CODE_COPY_MAX of them.
 * async-signal-safe. */
bool pp_code_copy(const struct pp_object_reader *reader, uint8_t *bytes, uintptr_t address, struct pp_code *code);

/* Reads the code objects of at most PP_CODE_BATCH frames, with their digests, through safe copies: one system call for
 * all of them, and one or two for the inputs of their digests. False: not all are code objects. async-signal-safe. */
bool pp_code_read_batch(const struct pp_python *python, struct pp_scratch *scratch,
                        const struct pp_python_frame *frames, uint32_t count, struct pp_code *codes);

#endif
