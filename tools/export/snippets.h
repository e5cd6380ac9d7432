/* Pieces of messages that occur again and again, by the number of what they come from: made once, then copied. */
#ifndef PP_EXPORT_SNIPPETS_H
#define PP_EXPORT_SNIPPETS_H

#include "../memory.h"

/* Starts as {0}; pp_snippets_free ends it. */
struct pp_snippets {
    struct pp_buffer bytes;
    struct pp_snippet_place {
        size_t start;
        uint32_t length;
        bool made;
    } * places; /* by number */
    uint32_t capacity;
};

struct pp_snippet {
    const char *data;
    size_t length;
};

/* The piece of this number, which make() appends to `bytes` when it is wanted for the first time. Valid until another
 * one is wanted. */
typedef void pp_snippet_maker(void *context, struct pp_buffer *bytes, uint32_t number);
struct pp_snippet pp_snippet(struct pp_snippets *snippets, uint32_t number, pp_snippet_maker *make, void *context);
void pp_snippets_free(struct pp_snippets *snippets);

#endif
