/* SPDX-License-Identifier: Apache-2.0 */
#include "row_parts.h"

PT_DEFINE_ADD(static uint32_t add, struct pt_row_parts, items, struct pt_row_part, item->row, item->part)

void pt_row_parts_add(struct pt_row_parts *parts, uint32_t row, uint32_t part, uint64_t ns)
{
    uint32_t item = add(parts, &(struct pt_row_part){.row = row, .part = part});
    parts->items.items[item].ns += ns;
}

void pt_row_parts_join(struct pt_row_parts *parts, const uint32_t *rows)
{
    struct pt_row_parts joined = {0};
    for (PT_EACH(const struct pt_row_part, part, &parts->items))
        pt_row_parts_add(&joined, rows[part->row], part->part, part->ns);
    pt_row_parts_free(parts);
    *parts = joined;
}

struct pt_row_part *pt_row_parts_most(const struct pt_row_parts *parts, uint32_t rows)
{
    struct pt_row_part *most = pt_alloc(rows, sizeof *most);
    for (PT_EACH(const struct pt_row_part, part, &parts->items))
        if (part->ns > most[part->row].ns)
            most[part->row] = *part;
    return most;
}

void pt_row_parts_free(struct pt_row_parts *parts)
{
    PT_FREE_TABLE(&parts->items);
}
