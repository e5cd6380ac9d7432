/*
 * `pyprof flame`: one call tree of one profile, or of two that are compared, as a web page that holds all it needs.
 *
 * The tree keeps what the page filters by: each cell is CPU time of one node in one thread, with or without the GIL, in
 * one bucket of the run. The page sums up the cells that are chosen.
 */
#ifndef PP_FLAME_H
#define PP_FLAME_H

#include <stdio.h>

#include "../profile/model.h"

/* What colours tell apart; the page has the same list (tools/web/colour.js). */
enum pp_flame_kind {
    PP_FLAME_APPLICATION, /* Python outside of installed packages and the standard library */
    PP_FLAME_PACKAGE,
    PP_FLAME_STANDARD,
    PP_FLAME_INTERPRETER, /* native code of CPython itself */
    PP_FLAME_NATIVE,
    PP_FLAME_PSEUDO,
};

enum pp_flame_kind pp_flame_kind_of(const struct pp_profile *profile, const struct pp_frame *frame);

/* Frames that read the same are one. */
struct pp_flame_frame {
    uint32_t kind;       /* enum pp_flame_kind */
    uint32_t text;       /* string: as everywhere (frame_text.h); makes the frame what it is, together with its kind */
    uint32_t name;       /* string: the part of the text before the place in parentheses */
    uint32_t file, path; /* strings: short and whole; "" for pseudo-frames */
    uint32_t module, line; /* string: package, file or library; line 0: none */
};

struct pp_flame {
    struct pp_profile *const *sides; /* the profiles, one or two; the second one is compared with the first */
    unsigned side_count;
    bool by_time; /* the page compares CPU per second of the run at first, not shares of the CPU */
    /* Of all sides: strings, nodes (their frame is one of `frames`) and samples (thread: counted on over the sides;
     * state: the GIL's bits; interval: bucket). */
    struct pp_profile *merged;
    PP_TABLE_OF(struct pp_flame_frame) frames;
    /* Bucket b is the time from start + b * width on; the last one + 1 holds what has no time. */
    uint64_t start_unix_ns, bucket_ns;
    uint32_t buckets;
};

/* Profiles that were loaded with keep_intervals; they must live as long. The caller ends it with pp_flame_free. */
struct pp_flame *pp_flame_new(struct pp_profile *const *sides, unsigned side_count, bool lines);
void pp_flame_free(struct pp_flame *flame);

/* Appends what the page is given: see encode.c for its form. */
void pp_flame_encode(struct pp_buffer *data, const struct pp_flame *flame);

/* Appends a JSON string, quotes included. Everything that HTML or JavaScript could take for its own is escaped. */
void pp_flame_json_string(struct pp_buffer *json, const char *text);

/* The whole page. */
void pp_flame_write(const struct pp_flame *flame, FILE *out);

#endif
