/* SPDX-License-Identifier: Apache-2.0 */
#include "debug_ranges.h"

#include <stdlib.h>

#include "../base/memory.h"

#include "../base/numbers.h"

/* Addresses below are no code's: linkers put there what they threw away. */
#define LOWEST 2u
/* Ranges that begin before the address and may reach over others up to it. */
#define OVERLAPPING 16u

void pt_ranges_keep(struct pt_ranges_left *left, size_t bytes)
{
    if (bytes > left->bytes)
        left->work = left->bytes = 0;
    else
        left->bytes -= bytes;
}

void pt_ranges_add(struct pt_ranges *ranges, Dwarf_Die *die, uint32_t owner, struct pt_ranges_left *left)
{
    Dwarf_Addr base, begin, end;
    for (ptrdiff_t at = 0; left->work && (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
        left->work--;
        if (begin < LOWEST || begin >= end)
            continue;
        pt_ranges_keep(left, sizeof *ranges->items);
        *PT_APPEND(ranges) = (struct pt_range){begin, end, owner};
    }
}

PT_DEFINE_ORDER(by_begin, struct pt_range, pt_compare(x->begin, y->begin) ?: pt_compare(x->owner, y->owner))

void pt_ranges_sort(struct pt_ranges *ranges)
{
    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof *ranges->items, by_begin);
}

uint32_t pt_ranges_find(const struct pt_ranges *ranges, uint64_t address)
{
    uint32_t low = 0, high = ranges->count; /* the first that begins after the address is in [low, high] */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranges->items[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low; i > 0 && low - i < OVERLAPPING; i--)
        if (address < ranges->items[i - 1].end)
            return ranges->items[i - 1].owner;
    return PT_NONE;
}
