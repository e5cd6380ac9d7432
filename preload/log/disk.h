/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds what profiles take on the disk: PYPROF_MAX_DISK, and the file system's free space. Flush thread only. */
#ifndef PP_LOG_DISK_H
#define PP_LOG_DISK_H

#include <stdbool.h>
#include <stdint.h>

/* A file is at most this fraction of the limit: then the next begins, so that there are old files to remove. */
#define PP_DISK_FILE_SHARE 16

struct pp_disk_removed {
    uint64_t files, bytes;
};

/* Whether the file system of an open file has space that we may use. */
bool pp_disk_has_room(int fd);

/* Whether the directory is to be checked after so many bytes were written to it. Decided by chance, so that processes
 * that do not know of each other check once for each part of the limit that they write together. */
bool pp_disk_is_due(uint64_t bytes, uint64_t limit);

/* Removes the profiles of this user that were written least recently, when those in the directory take more than the
 * limit or are more than 32,768, until they take an eighth less, 8,192 of them at most; never the file of this name,
 * and never the newest file of a live pid. Only regular files with names like ours count. */
struct pp_disk_removed pp_disk_trim(const char *directory, const char *own_name, uint64_t limit);

#endif
