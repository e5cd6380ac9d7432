#include "numbering.h"

#include <stdlib.h>

uint32_t pp_number(struct pp_numbering *numbering, uint32_t item)
{
    numbering->given = pp_grow(numbering->given, &numbering->capacity, (uint64_t)item + 1, sizeof *numbering->given);
    if (!numbering->given[item]) {
        numbering->order = pp_grow(numbering->order, &numbering->order_capacity, (uint64_t)numbering->count + 1,
                                   sizeof *numbering->order);
        numbering->order[numbering->count++] = item;
        numbering->given[item] = numbering->count;
    }
    return numbering->given[item];
}

void pp_numbering_free(struct pp_numbering *numbering)
{
    free(numbering->given);
    free(numbering->order);
    *numbering = (struct pp_numbering){0};
}
