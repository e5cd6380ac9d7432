/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds what profiles take on the disk: PYPROF_MAX_DISK, and the file system's free space. Flush thread only. */
#ifndef PP_LOG_DISK_H
#define PP_LOG_DISK_H

#include <stdbool.h>
#include <stdint.h>

struct pp_disk_trimmed {
    uint64_t files, bytes; /* removed */
    unsigned writers;      /* files that were written lately, before: so many processes write there */
};

/* Whether the file system of an open file has space that we may use. */
bool pp_disk_has_room(int fd);

/* Returns the size at which a file ends and the next begins, so that there are old files to remove: a part of the
 * limit, and smaller where many write, as the newest file of a live process is never removed. */
uint64_t pp_disk_file_limit(uint64_t limit, unsigned writers);

/* Whether the directory is to be checked after `bytes` were added to a file of now `size`. Decided by chance, so that
 * processes that do not know of each other check once for each part of the limit that they write together; and each
 * time that the file has doubled, so that each process knows how many write before its file is large. */
bool pp_disk_is_due(uint64_t bytes, uint64_t size, uint64_t limit);

/* Removes the profiles of this user that were written least recently, when those in the directory take more than the
 * limit or are more than 32,768, until they take an eighth less, 8,192 of them at most; never the file of this name,
 * and never the newest file of a live pid. Only regular files with names like ours count. */
struct pp_disk_trimmed pp_disk_trim(const char *directory, const char *own_name, uint64_t limit);

#endif
