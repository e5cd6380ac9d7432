/* A frame's parts, for formats that have a field for each. */
#ifndef PP_EXPORT_FRAMES_H
#define PP_EXPORT_FRAMES_H

#include "../profile/model.h"

struct pp_frame_parts {
    uint32_t name;   /* string: qualified name, symbol as people read it, or "[gc]" */
    uint32_t file;   /* string: whole path of the source or of the module; 0 for pseudo-frames */
    uint32_t line;   /* Python: the first line or, with lines, the one being executed; 0 when unknown */
    uint32_t kind;   /* enum pp_frame_kind */
    uint32_t module; /* native: module, or PP_NONE */
};

struct pp_frame_parts pp_frame_parts_of(struct pp_profile *profile, uint32_t frame, bool lines);

/* The writers' wait for text: what has a meaning in the format (any of `special`) and control characters become '_'. */
void pp_append_plain(struct pp_buffer *out, const char *text, const char *special);

/* The profile's samples, what differs in neither thread nor stack nor interval being one, sorted by interval, thread
 * and stack. The caller frees. */
struct pp_sample *pp_merged_samples(const struct pp_profile *profile, uint32_t *count);

/* By node: whether a sample's stack goes through it. The caller frees. */
bool *pp_nodes_used(const struct pp_profile *profile);

#endif
