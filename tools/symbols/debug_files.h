/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files on this machine that name the addresses of a module: by build-id only, since a file that is found by
 * its name may be of another build. */
#ifndef PT_SYMBOLS_DEBUG_FILES_H
#define PT_SYMBOLS_DEBUG_FILES_H

#include <stddef.h>

#include "mapped.h"

/* The files chosen for a module. Both may be the same file: the module's own, or one with separate debug information.
 */
struct pt_debug_files {
    char *image; /* names its functions; NULL: no file has the build-id */
    char *dwarf; /* has DWARF; NULL: none */
};
/* build_id is hexadecimal. pt_debug_files_free ends it. */
void pt_debug_files_find(struct pt_debug_files *files, const char *path, const char *build_id,
                         struct pt_mapped *mapped);
void pt_debug_files_free(struct pt_debug_files *files);

/* Returns a path at which separate debug information with this build-id may be; places are numbered from 0 on,
 * PT_DEBUG_PLACES of them. NULL if there is no such place. The caller frees. */
#define PT_DEBUG_PLACES 2u
char *pt_debug_path(const char *build_id, unsigned place);

/* Opens an ELF file for reading if it has this build-id, else returns -1. */
int pt_open_build(const char *path, const char *build_id, struct pt_mapped *mapped);

#endif
