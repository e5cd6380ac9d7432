/* What profiles take on the disk: PYPROF_MAX_DISK, and the last of its room. Flush thread only. */
#ifndef PP_LOG_DISK_H
#define PP_LOG_DISK_H

#include <stdbool.h>
#include <stdint.h>

/* A file is at most this part of the limit: then another one begins, so that there are old ones to remove. */
#define PP_DISK_FILE_SHARE 16

struct pp_disk_removed {
    uint64_t files, bytes;
};

/* Whether the file system of an open file has room that we may use. */
bool pp_disk_has_room(int fd);

/* Whether it is time to look, after so many more bytes were written to the directory: by chance, so that many processes
 * look together once for each part of the limit that they have written, without knowing of each other. */
bool pp_disk_is_due(uint64_t bytes, uint64_t limit);

/* When this user's profiles in the directory take more than the limit, removes the oldest ones until they take an
 * eighth less; never the one of this name, and never the newest one of a pid that is there. Only regular files with
 * names as we give them. */
struct pp_disk_removed pp_disk_trim(const char *directory, const char *own_name, uint64_t limit);

#endif
