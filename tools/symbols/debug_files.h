/* Where files with debug information are: by build-id only, since what is found by name alone may be of another build.
 */
#ifndef PT_PROFILE_DEBUG_FILES_H
#define PT_PROFILE_DEBUG_FILES_H

#include <stddef.h>

/* A path at which separate debug information with this build-id (hexadecimal) may be, on this machine; places are
 * numbered from 0 on, PT_DEBUG_PLACES of them. NULL when there is no such place. The caller frees. */
#define PT_DEBUG_PLACES 2u
char *pt_debug_path(const char *build_id, unsigned place);

/* Opens an ELF file for reading if it has this build-id, else returns -1. */
int pt_open_build(const char *path, const char *build_id);

/* As hexadecimal text; the caller frees. */
char *pt_build_id_text(const void *bytes, size_t length);

#endif
