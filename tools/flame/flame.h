/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `pyprof flame`: one call tree of one profile, or of two that are compared, as a web page that holds all it needs.
 *
 * The tree keeps what the page filters by: each cell is CPU time of one node in one thread, with or without the GIL, in
 * one bucket of the run. The page sums up the cells that are chosen.
 */
#ifndef PT_FLAME_H
#define PT_FLAME_H

#include <stdio.h>

#include "../model/model.h"

/* Frames that read the same are one. */
struct pt_flame_frame {
    uint32_t kind;       /* enum pt_kind */
    uint32_t text;       /* string: as everywhere (frame_text.h); makes the frame what it is, together with its kind */
    uint32_t name;       /* string: the part of the text before the place in parentheses */
    uint32_t file, path; /* strings: short and whole; "" for pseudo-frames */
    uint32_t module, line; /* string: package, file or library; line 0: none */
};

/* The nodes that a node is folded into, by level of native code (query/fold.h), and its package (query/package.h). */
struct pt_flame_folded {
    uint32_t at[PT_NATIVE_ALL], package; /* package: a string */
};

/* More cells than this make a page that is slow to open. */
#define PT_FLAME_MAX_CELLS (3u << 19)

/* Says how finely threads are split, if splitting all would make too many cells. The page has the same list
 * (web/filters.js). */
enum pt_flame_detail {
    PT_FLAME_ALL, /* threads, and whether they had the GIL */
    PT_FLAME_THREADS,
    PT_FLAME_NAMES, /* threads of a process that have the same name are one */
    PT_FLAME_PROCESSES,
    PT_FLAME_TOTAL,
    PT_FLAME_DETAILS,
};

struct pt_flame {
    struct pt_profile *const *sides; /* the profiles, one or two; the second one is compared with the first */
    unsigned side_count;
    bool lines;
    enum pt_native native; /* what the page shows at first of native code; it has all */
    bool by_time;          /* the page compares CPU per second of the run at first, not shares of the CPU */
    const char *group;     /* the word of --by that the page groups by at first; NULL: none */
    /* Of all sides: strings, label sets, nodes (their frame is one of `frames`) and samples (thread: counted on over
     * the sides; state: the GIL's bits; interval: bucket). */
    struct pt_profile *merged;
    PT_TABLE_OF(struct pt_flame_frame) frames;
    PT_TABLE_OF(struct pt_flame_folded) folded; /* by node; 0 of a node that is only what others are folded into */
    /* Bucket b is the time from start + b * width on; the last one + 1 holds what has no time. */
    uint64_t start_unix_ns, bucket_ns;
    uint32_t buckets;
    enum pt_flame_detail detail;
    /* The same CPU time is stored up to three times: by node and thread, in bucket `buckets` + 1; by node and bucket,
     * of thread pt_flame_threads(); and, if that is known, by thread and bucket, of node 0. */
    bool apart;
    double spread[2]; /* of the sides' samples (view/uncertainty.h) */
    char *source;     /* of the last side: JSON of pt_flame_sources */
};

/* Profiles that were loaded with times, or without, and then there is no time in the page; they must live as
 * long. What has more samples than PT_FLAME_MAX_CELLS, without intervals, loses them. The caller ends it with
 * pt_flame_free. */
struct pt_flame *pt_flame_new(struct pt_profile *const *sides, unsigned side_count, bool lines);
void pt_flame_free(struct pt_flame *flame);

/* Adds when it was: of a flame of one profile without intervals; from the same logs, of stacks only or not, with
 * intervals. */
void pt_flame_add_times(struct pt_flame *flame, struct pt_profile *times);

/* Returns whether the page can group by the word of --by: a very large one lacks contexts, and threads. */
bool pt_flame_has_group(const struct pt_flame *flame, const char *by);

/* Appends what the page is given: see encode.c for its form. */
void pt_flame_encode(struct pt_buffer *data, const struct pt_flame *flame);

/* The page before and after its data: made by tools/flame/web/embed.sh. */
extern const unsigned char pt_page_head[], pt_page_tail[];
extern const size_t pt_page_head_size, pt_page_tail_size;

/* Writes the whole page to out. */
void pt_flame_write(const struct pt_flame *flame, FILE *out);

/* Returns the number of threads of all sides. */
static inline uint32_t pt_flame_threads(const struct pt_flame *flame)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < flame->side_count; i++)
        count += flame->sides[i]->threads.count;
    return count;
}

/* Used in this folder only: of nodes.c, many.c and sources.c. */

/* Adds a profile's stacks to the tree, whole and folded, and maps its nodes to those of the tree; a parent's number is
 * less than its children's. The profile gets the folded stacks, too. The caller frees. */
uint32_t *pt_flame_add_nodes(struct pt_flame *flame, struct pt_profile *from);

/* Makes the cells of sides without intervals that have very many samples. The sides lose their samples. */
void pt_flame_add_many(struct pt_flame *flame);

/* Chooses the buckets by the intervals of the profile. */
void pt_flame_choose_buckets(struct pt_flame *flame, const struct pt_profile *from);

/* Adds a cell's CPU time and samples to the buckets over which its interval lies, in proportion, and to the last
 * nanosecond. */
void pt_flame_add_timed(struct pt_flame *flame, const struct pt_sample *like, const struct pt_interval *interval);

/* Returns a JSON object: what shares are of, and the files whose functions are hot, those of the application first,
 * with their lines as far as the source is here and is what ran. `left_out` is how many hot functions have no room. The
 * caller frees it. */
char *pt_flame_sources(const struct pt_profile *profile);

#endif
