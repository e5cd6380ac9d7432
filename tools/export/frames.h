/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a frame into parts, for formats that have a field for each. */
#ifndef PT_EXPORT_FRAMES_H
#define PT_EXPORT_FRAMES_H

#include "../model/model.h"

struct pt_frame_parts {
    uint32_t name; /* string: qualified name, symbol as people read it, or "[gc]" */
    uint32_t
        file; /* string: whole path of the source (native: with lines only) or of the module; 0 for pseudo-frames */
    uint32_t line;   /* with lines the one being executed, else of Python functions the first; 0 when unknown */
    uint32_t kind;   /* enum pp_frame_kind */
    uint32_t module; /* native: module, or PT_NONE */
};

/* Names of inlined functions say so, as in all texts. */
struct pt_frame_parts pt_frame_parts_of(struct pt_profile *profile, uint32_t frame, bool lines);

/* Returns the node below the native frame of a node and all that it is inlined into, for formats with several functions
 * at one address. */
uint32_t pt_below_inlined(const struct pt_profile *profile, uint32_t node);

/* Returns the name of a native function without "(inlined)", as a string. */
uint32_t pt_plain_symbol(struct pt_profile *profile, const struct pt_frame *frame);

/* Appends text as pt_shown_text() shows it, with '_' for characters that mean something in the format (`special`). */
void pt_append_plain(struct pt_buffer *out, const char *text, const char *special);

/* Returns the samples sorted by interval, thread and stack; those that are equal in all three are merged. The caller
 * frees. */
struct pt_sample *pt_merged_samples(const struct pt_profile *profile, uint32_t *count);

/* Returns these samples sorted by thread, then by the middle of their interval, then in the order of a walk of the
 * tree: those of one function follow each other. The caller frees. */
struct pt_sample *pt_samples_in_time(const struct pt_profile *profile, uint32_t *count);

/* Returns, by node, whether a sample's stack goes through it. The caller frees. */
bool *pt_nodes_used(const struct pt_profile *profile);

#endif
