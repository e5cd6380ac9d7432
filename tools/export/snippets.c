#include "snippets.h"

#include <stdlib.h>

struct pt_snippet pt_snippet(struct pt_snippets *snippets, uint32_t number, pt_snippet_maker *make, void *context)
{
    if (number >= snippets->capacity || !snippets->places[number].made) {
        snippets->places =
            pt_grow(snippets->places, &snippets->capacity, (uint64_t)number + 1, sizeof *snippets->places);
        struct pt_snippet_place *place = &snippets->places[number];
        place->start = snippets->bytes.length;
        make(context, &snippets->bytes, number);
        pt_buffer_text(&snippets->bytes, ""); /* data is not NULL: there may be nothing in all of them */
        place->length = (uint32_t)(snippets->bytes.length - place->start);
        place->made = true;
    }
    const struct pt_snippet_place *place = &snippets->places[number];
    return (struct pt_snippet){snippets->bytes.data + place->start, place->length};
}

void pt_snippets_free(struct pt_snippets *snippets)
{
    free(snippets->places);
    pt_buffer_free(&snippets->bytes);
    *snippets = (struct pt_snippets){0};
}
