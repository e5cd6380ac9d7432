/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what DWARF says of the addresses of one file: source lines, and the functions that are inlined there.
 *
 * The file may be damaged or made up: whatever it says, lookups end after seconds, and take memory in proportion to its
 * size.
 */
#ifndef PT_SYMBOLS_DEBUG_INFO_H
#define PT_SYMBOLS_DEBUG_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "debug_files.h"

/* Functions inlined into each other; what is deeper inside is left out. */
#define PT_MAX_INLINED 64u
#define PT_MAX_SCOPES  (PT_MAX_INLINED + 1)

/* A function at an address. Strings live as long as the pt_debug_info; NULL: not known. */
struct pt_scope {
    const char *symbol; /* linkage name if it has one */
    const char *file;   /* whole path, as the compiler knew it */
    uint32_t line;      /* in that file: of the address or, in a caller, of the inlined call; 0: not known */
};

struct pt_debug_info;

/* Opens a file; returns NULL if it has another build-id (hexadecimal) or no debug information. One thread at a time;
 * pt_debug_info_close ends it. */
struct pt_debug_info *pt_debug_info_open(const char *path, const char *build_id, struct pt_mapped *mapped);
/* Returns whether some debug information was left out because it takes too long or never ends. */
bool pt_debug_info_is_cut(const struct pt_debug_info *info);
void pt_debug_info_close(struct pt_debug_info *info);

/* Finds the functions at an address in the file's own terms, the innermost inlined one first, the one that was called
 * last; returns their count, 0 when nothing is known. */
uint32_t pt_debug_info_find(struct pt_debug_info *info, uint64_t address, struct pt_scope scopes[PT_MAX_SCOPES]);

#endif
