/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names ranges of code outside every module: what JITs make. Ranges never overlap: a new range replaces what it covers,
 * since JITs reuse their memory. Flush thread only; memory is our own mappings.
 */
#ifndef PP_MODULES_CODE_RANGES_H
#define PP_MODULES_CODE_RANGES_H

#include "../base/intern.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_CODE_RANGES_MAX     (1u << 18)
#define PP_CODE_NAMES_MAX      ((size_t)32 << 20) /* bytes of memory for names */
#define PP_CODE_NAME_MAX       1024u              /* bytes of one; longer ones are cut */
#define PP_CODE_RANGE_SIZE_MAX ((uint64_t)1 << 30)

struct pp_code_range {
    uintptr_t start;
    uint32_t size;
    uint32_t name;    /* id in the table's names */
    uint32_t source;  /* the user's: where the name is from */
    uint32_t refresh; /* the refresh at which an address of the range last changed its name; 0: never */
};

/* All zero: empty. */
struct pp_code_ranges {
    struct pp_code_block **blocks;
    uint32_t block_count, block_capacity;
    uint32_t count;
    uint64_t dropped; /* ranges without room or memory */
    uint64_t refused; /* names, since they were last packed */
    bool crowded;     /* packed names still take nearly all their room */
    struct pp_arena arena;
    struct pp_intern names;
};

/* Names the code at [start, start + size). Control characters and invalid UTF-8 become '?'. `refresh` (not 0) is stored
 * if a range of another name was there. False: the range is invalid, or there is no room or memory. */
bool pp_code_ranges_put(struct pp_code_ranges *ranges, uintptr_t start, uint64_t size, const char *name, size_t length,
                        uint32_t source, uint32_t refresh);

/* Returns the range that holds the address, NULL if none; valid until the next change. */
const struct pp_code_range *pp_code_ranges_find(const struct pp_code_ranges *ranges, uintptr_t address);

/* Returns *length bytes, not NUL-terminated; valid until the next change. */
const char *pp_code_ranges_name(const struct pp_code_ranges *ranges, const struct pp_code_range *range, size_t *length);

/* Removes the ranges for which gone(source, arg) is true. */
void pp_code_ranges_remove(struct pp_code_ranges *ranges, bool (*gone)(uint32_t source, void *arg), void *arg);

/* Unmaps everything. */
void pp_code_ranges_clear(struct pp_code_ranges *ranges);

#endif
