/* SPDX-License-Identifier: Apache-2.0 */
#include "mappings.h"
#include "syscalls.h"
#include <fcntl.h>
#include <stddef.h>

#define CHUNK       4096
#define FIRST_CHUNK 512 /* the executable's lines come first, and the kernel takes 1 us for a line */

/* Reads "start-end perms offset dev inode   path" byte by byte, since a line may straddle two reads. `size` of path: 0
 * when it is not wanted. */
static bool search(uintptr_t address, uintptr_t range[2], char *path, size_t size)
{
    char buffer[CHUNK];
    enum { IN_START, IN_END, IN_REST } where = IN_START;
    size_t length = 0, chunk = FIRST_CHUNK;
    bool found = false, done = false;
    long n;
    range[0] = range[1] = 0;
    int fd = pp_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    for (; !done && (n = pp_sys_read(fd, buffer, chunk)) > 0; chunk = sizeof buffer)
        for (long i = 0; i < n && !done; i++) {
            char c = buffer[i];
            if (c == '\n') {
                done = found;
                where = IN_START;
                if (!done)
                    range[0] = range[1] = 0;
            } else if (where == IN_REST) {
                if (found && (length || c == '/') && length + 1 < size)
                    path[length++] = c;
            } else if (c == '-') {
                where = IN_END;
            } else if (c == ' ') {
                where = IN_REST;
                found = address >= range[0] && address < range[1];
                done = found && !size;
            } else {
                range[where] = range[where] << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
            }
        }
    pp_sys_close(fd);
    if (size)
        path[length] = 0;
    return found;
}

bool pp_mapping_around(uintptr_t address, uintptr_t *start, uintptr_t *end)
{
    uintptr_t range[2];
    bool found = search(address, range, NULL, 0);
    *start = range[0];
    *end = range[1];
    return found;
}

void pp_mapped_path(uintptr_t address, char *path, size_t size)
{
    uintptr_t range[2];
    path[0] = 0;
    search(address, range, path, size);
}
