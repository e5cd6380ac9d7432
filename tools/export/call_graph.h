/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a graph of functions and calls, for formats without stacks. */
#ifndef PT_EXPORT_CALL_GRAPH_H
#define PT_EXPORT_CALL_GRAPH_H

#include "../view/call_tree.h"

/* `self` is of samples with the function at the leaf, `total` of samples with it (or with the call) on the stack,
 * recursion counted once. */
struct pt_call_weight {
    uint64_t self_count, self_ns, total_count, total_ns;
};

struct pt_call_function {
    uint32_t text, frame; /* string, and a frame that reads so */
    struct pt_call_weight weight;
};

/* A line of a function. Native ones may have lines in several files. */
struct pt_call_place {
    uint32_t source, line; /* source: native, as pt_frame has it; line 0: not known */
};

/* Self time by place. */
struct pt_call_line {
    uint32_t function;
    struct pt_call_place place;
    uint64_t self_count, self_ns;
};

struct pt_call_edge {
    uint32_t caller, callee;    /* functions */
    struct pt_call_place place; /* of the call, in the caller */
    struct pt_call_weight weight;
};

struct pt_call_graph {
    PT_TABLE_OF(struct pt_call_function) functions;
    PT_TABLE_OF(struct pt_call_line) lines;
    PT_TABLE_OF(struct pt_call_edge) edges; /* tables are in the order of first sight in a walk of the sorted tree */
};

/* With lines, edges differ by the place of the call, else the places of edges and lines are 0.
 * pt_call_graph_free ends it. */
struct pt_call_graph *pt_call_graph_new(struct pt_profile *profile, bool lines);
void pt_call_graph_free(struct pt_call_graph *graph);

#endif
