/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files on this machine that name the addresses of a module: by build-id only, since a file that is found by
 * its name may be of another build. */
#ifndef PT_SYMBOLS_DEBUG_FILES_H
#define PT_SYMBOLS_DEBUG_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct pt_mapped_file {
    char *path;
    struct stat status;
};

/* The files that one thread has mapped, one set at a time: another program may write them meanwhile, as a build or an
 * upgrade does. Starts with pt_mapped_begin; pt_mapped_end ends it. */
struct pt_mapped {
    struct pt_mapped_file *items;
    uint32_t count, capacity;
};

void pt_mapped_begin(struct pt_mapped *mapped);

/* Returns whether a file was cut or written since pt_mapped_begin: what was read may be of another build. A file that
 * was replaced is still as it was. */
bool pt_mapped_end(struct pt_mapped *mapped);

/* The program calls this once, before files are mapped: where a watched file has become shorter, zeros are read instead
 * of SIGBUS. Other faults end the program as before. */
void pt_mapped_protect(void);

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
