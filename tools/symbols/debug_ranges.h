/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the owner of an address among ranges. */
#ifndef PT_SYMBOLS_DEBUG_RANGES_H
#define PT_SYMBOLS_DEBUG_RANGES_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct pt_range {
    uint64_t begin, end;
    uint32_t owner;
};

/* Starts as {0}; free(items) ends it. */
struct pt_ranges {
    struct pt_range *items;
    uint32_t count, capacity;
};

/* Limits what may still be read and kept of a file: damaged files may have no end. Without `work`, reading stops. */
struct pt_ranges_left {
    uint64_t work, bytes;
};

/* Subtracts bytes that will be kept; if fewer are left, sets left->work to 0. */
void pt_ranges_keep(struct pt_ranges_left *left, size_t bytes);

/* Adds the ranges of an entry of the debug information, within the limits. Ranges of code that the linker removed are
 * left out: they begin at the first bytes of the file, or at the end of all addresses. */
void pt_ranges_add(struct pt_ranges *ranges, Dwarf_Die *die, uint32_t owner, struct pt_ranges_left *left);

/* Sorts the ranges. Call before the first pt_ranges_find. */
void pt_ranges_sort(struct pt_ranges *ranges);

/* Returns the owner of the address, PT_NONE when there is none. Where ranges overlap, the one that begins last wins. */
uint32_t pt_ranges_find(const struct pt_ranges *ranges, uint64_t address);

#endif
