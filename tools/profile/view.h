/*
 * The call tree as someone looks at it: frames that read the same are one, samples can be told apart by process,
 * thread and GIL (as frames next to the root) or left out.
 */
#ifndef PP_PROFILE_VIEW_H
#define PP_PROFILE_VIEW_H

#include "model.h"

struct pp_view_node {
    uint32_t parent;    /* less than its own number; node 0 is the root */
    uint32_t text;      /* string: frame_text.h */
    uint32_t frame;     /* one of the frames that read so; PP_NONE for the root, processes and threads */
    uint64_t count, ns; /* of samples that end here */
    uint64_t total_count, total_ns;
};

struct pp_view {
    PP_TABLE_OF(struct pp_view_node) nodes;
    uint32_t *first_child, *next_sibling; /* by node; PP_NONE ends. Children are in the order of their text. */
};

struct pp_view_options {
    bool lines, threads, processes;
    bool gil;                           /* tell apart samples with and without it */
    uint32_t only_process, only_thread; /* PP_NONE: all */
};

/* The caller ends it with pp_view_free. */
struct pp_view *pp_view_new(struct pp_profile *profile, const struct pp_view_options *options);
void pp_view_free(struct pp_view *view);

/* The node that comes after `at` when the tree below `top` is walked depth first; PP_NONE at the end. */
uint32_t pp_view_next(const struct pp_view *view, uint32_t at, uint32_t top);

/* Time by frame text. Recursion counts once in totals. */
struct pp_total {
    uint32_t text, frame;
    uint64_t self_count, self_ns, total_count, total_ns;
};

/* Sorted by self time, then total time, then text. The caller frees the array. */
struct pp_total *pp_view_totals(const struct pp_profile *profile, const struct pp_view *view, uint32_t *count);

/* "name (tid)" and "pid command" for people. Append to text. */
void pp_thread_text(struct pp_buffer *text, const struct pp_profile *profile, uint32_t thread);
void pp_process_text(struct pp_buffer *text, const struct pp_profile *profile, uint32_t process);

#endif
