/* Address ranges and what they belong to, found by address. */
#ifndef PP_PROFILE_DEBUG_RANGES_H
#define PP_PROFILE_DEBUG_RANGES_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct pp_range {
    uint64_t begin, end;
    uint32_t owner;
};

/* Starts as {0}; free(items) ends it. */
struct pp_ranges {
    struct pp_range *items;
    uint32_t count, capacity;
};

/* What may still be read of a file and kept of it: damaged files may say that there is no end. No work, no more. */
struct pp_ranges_left {
    uint64_t work, bytes;
};

/* Subtracts bytes that are to be kept; when there are not so many left, no work is. */
void pp_ranges_keep(struct pp_ranges_left *left, size_t bytes);

/* Adds those of an entry of the debug information, as many as are left. What the linker threw away is left out: it lies
 * at the file's first bytes, or at the end of all addresses. */
void pp_ranges_add(struct pp_ranges *ranges, Dwarf_Die *die, uint32_t owner, struct pp_ranges_left *left);

/* Before the first pp_ranges_find. */
void pp_ranges_sort(struct pp_ranges *ranges);

/* The owner of the address, PP_NONE when there is none; where ranges overlap, of the one that begins last. */
uint32_t pp_ranges_find(const struct pp_ranges *ranges, uint64_t address);

#endif
