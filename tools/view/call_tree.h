/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the call tree as people read it: frames with equal texts are merged, samples can be split by process, thread
 * and GIL (as frames next to the root) or left out.
 */
#ifndef PT_VIEW_CALL_TREE_H
#define PT_VIEW_CALL_TREE_H

#include "../model/model.h"

struct pt_view_node {
    uint32_t parent;    /* less than its own number; node 0 is the root */
    uint32_t text;      /* string: frame_text.h */
    uint32_t frame;     /* one of the frames that read so; PT_NONE for the root, processes and threads */
    uint64_t count, ns; /* of samples that end here */
    uint64_t total_count, total_ns;
};

struct pt_view {
    PT_TABLE_OF(struct pt_view_node) nodes;
    uint32_t *first_child, *next_sibling; /* by node; PT_NONE ends. Children are in the order of their text. */
};

struct pt_view_options {
    bool lines, threads, processes;
    bool gil;                           /* split samples by whether the GIL was held */
    uint32_t only_process, only_thread; /* PT_NONE: all */
};

/* The caller ends it with pt_view_free. */
struct pt_view *pt_view_new(struct pt_profile *profile, const struct pt_view_options *options);
void pt_view_free(struct pt_view *view);

/* Returns the node after `at` in a depth-first walk of the tree below `top`; PT_NONE at the end. */
uint32_t pt_view_next(const struct pt_view *view, uint32_t at, uint32_t top);

/* Time by frame text. Recursion counts once in totals. */
struct pt_total {
    uint32_t text, frame;
    uint64_t self_count, self_ns, total_count, total_ns;
};

/* Returns *count totals, sorted by self time, then total time, then text. The caller frees the array. */
struct pt_total *pt_view_totals(const struct pt_profile *profile, const struct pt_view *view, uint32_t *count);

/* Append "name (tid)", with " of process PID" if there are several and that is asked for, and "pid command" to text. */
void pt_thread_of_process_text(struct pt_buffer *text, const struct pt_profile *profile, uint32_t thread);
void pt_thread_text(struct pt_buffer *text, const struct pt_profile *profile, uint32_t thread);
void pt_process_text(struct pt_buffer *text, const struct pt_profile *profile, uint32_t process);

#endif
