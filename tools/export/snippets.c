#include "snippets.h"

#include <stdlib.h>

struct pp_snippet pp_snippet(struct pp_snippets *snippets, uint32_t number, pp_snippet_maker *make, void *context)
{
    if (number >= snippets->capacity || !snippets->places[number].made) {
        snippets->places =
            pp_grow(snippets->places, &snippets->capacity, (uint64_t)number + 1, sizeof *snippets->places);
        struct pp_snippet_place *place = &snippets->places[number];
        place->start = snippets->bytes.length;
        make(context, &snippets->bytes, number);
        pp_buffer_text(&snippets->bytes, ""); /* data is not NULL: there may be nothing in all of them */
        place->length = (uint32_t)(snippets->bytes.length - place->start);
        place->made = true;
    }
    const struct pp_snippet_place *place = &snippets->places[number];
    return (struct pp_snippet){snippets->bytes.data + place->start, place->length};
}

void pp_snippets_free(struct pp_snippets *snippets)
{
    free(snippets->places);
    pp_buffer_free(&snippets->bytes);
    *snippets = (struct pp_snippets){0};
}
