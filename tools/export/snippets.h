/* Pieces of messages that occur again and again, by the number of what they come from: made once, then copied. */
#ifndef PT_EXPORT_SNIPPETS_H
#define PT_EXPORT_SNIPPETS_H

#include "../base/memory.h"

/* Starts as {0}; pt_snippets_free ends it. */
struct pt_snippets {
    struct pt_buffer bytes;
    struct pt_snippet_place {
        size_t start;
        uint32_t length;
        bool made;
    } * places; /* by number */
    uint32_t capacity;
};

struct pt_snippet {
    const char *data;
    size_t length;
};

/* The piece of this number, which make() appends to `bytes` when it is wanted for the first time. Valid until another
 * one is wanted. */
typedef void pt_snippet_maker(void *context, struct pt_buffer *bytes, uint32_t number);
struct pt_snippet pt_snippet(struct pt_snippets *snippets, uint32_t number, pt_snippet_maker *make, void *context);
void pt_snippets_free(struct pt_snippets *snippets);

#endif
