/* SPDX-License-Identifier: Apache-2.0 */
#include "mappings.h"
#include "syscalls.h"
#include <fcntl.h>
#include <stddef.h>

#define CHUNK       4096
#define FIRST_CHUNK 512 /* the executable's lines come first, and the kernel takes 1 us for a line */

struct mapping {
    uintptr_t range[2];
    uint64_t device[2], inode; /* device: its major and minor number */
    char *path;
    size_t size; /* of path; 0: nothing but the range is wanted */
};

static unsigned hex_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Fields of a line after its range. */
enum { PERMISSIONS, OFFSET, DEVICE, INODE, PATH };

/* Finds the line of the mapping that holds the address. Reads "start-end perms offset dev inode   path" byte by byte,
 * since a line may straddle two reads. */
static bool search(uintptr_t address, struct mapping *mapping)
{
    char buffer[CHUNK];
    enum { IN_START, IN_END, IN_REST } where = IN_START;
    unsigned field = PERMISSIONS, part = 0;
    size_t length = 0, chunk = FIRST_CHUNK;
    bool found = false, done = false;
    long n;
    uintptr_t *range = mapping->range;
    range[0] = range[1] = mapping->device[0] = mapping->device[1] = mapping->inode = 0;
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
                if (c == ' ' && field < PATH)
                    field++;
                else if (found && field == DEVICE && c == ':')
                    part = 1;
                else if (found && field == DEVICE)
                    mapping->device[part] = mapping->device[part] << 4 | hex_digit(c);
                else if (found && field == INODE)
                    mapping->inode = mapping->inode * 10 + (unsigned)(c - '0');
                else if (found && field == PATH && (length || c == '/') && length + 1 < mapping->size)
                    mapping->path[length++] = c;
            } else if (c == '-') {
                where = IN_END;
            } else if (c == ' ') {
                where = IN_REST;
                field = PERMISSIONS;
                found = address >= range[0] && address < range[1];
                done = found && !mapping->size;
            } else {
                range[where] = range[where] << 4 | hex_digit(c);
            }
        }
    pp_sys_close(fd);
    if (mapping->size)
        mapping->path[length] = 0;
    return found;
}

bool pp_mapping_around(uintptr_t address, uintptr_t *start, uintptr_t *end)
{
    struct mapping mapping = {.size = 0};
    bool found = search(address, &mapping);
    *start = mapping.range[0];
    *end = mapping.range[1];
    return found;
}

void pp_mapped_path(uintptr_t address, char *path, size_t size)
{
    struct mapping mapping = {.path = path, .size = size};
    path[0] = 0;
    search(address, &mapping);
}

uint64_t pp_mapped_inode(uintptr_t address, uint64_t *device)
{
    char none[1];
    struct mapping mapping = {.path = none, .size = sizeof none};
    search(address, &mapping);
    uint64_t minor = mapping.device[1];
    *device = (minor & 0xff) | mapping.device[0] << 8 | (minor & ~(uint64_t)0xff) << 12; /* as stat has it */
    return mapping.inode;
}
