/* The path of a mapped file, for objects whose name in the loader is empty or relative (to a directory that the program
 * may have left since). */
#include "../base/arena.h"
#include "../base/syscalls.h"
#include "elf_image.h"
#include <fcntl.h>
#include <string.h>

#define BUFFER_SIZE ((size_t)64 << 10)

static const char *hexadecimal(const char *at, uintptr_t *value)
{
    *value = 0;
    for (;; at++) {
        unsigned digit = (unsigned char)*at;
        if (digit >= '0' && digit <= '9')
            digit -= '0';
        else if (digit >= 'a' && digit <= 'f')
            digit -= 'a' - 10;
        else
            return at;
        *value = *value << 4 | digit;
    }
}

/* "start-end perms offset dev inode   path"; true when the line is about the address. */
static bool take_line(const char *line, uintptr_t address, char *path, size_t size)
{
    uintptr_t start, end;
    const char *at = hexadecimal(line, &start);
    if (*at != '-')
        return false;
    hexadecimal(at + 1, &end);
    if (address < start || address >= end)
        return false;
    const char *found = strchr(line, '/');
    size_t length = found ? strlen(found) : 0;
    if (length >= size)
        length = 0;
    if (length)
        memcpy(path, found, length);
    path[length] = '\0';
    return true;
}

static void search(int fd, char *buffer, uintptr_t address, char *path, size_t size)
{
    size_t used = 0;
    for (;;) {
        long r = pp_sys_read(fd, buffer + used, BUFFER_SIZE - 1 - used);
        if (r <= 0)
            return;
        used += (size_t)r;
        char *line = buffer, *newline;
        while ((newline = memchr(line, '\n', used - (size_t)(line - buffer)))) {
            *newline = '\0';
            if (take_line(line, address, path, size))
                return;
            line = newline + 1;
        }
        used -= (size_t)(line - buffer);
        memmove(buffer, line, used);
        if (used == BUFFER_SIZE - 1)
            return;
    }
}

void pp_mapped_path(uintptr_t address, char *path, size_t size)
{
    path[0] = '\0';
    char *buffer = pp_map(BUFFER_SIZE);
    if (!buffer)
        return;
    int fd = pp_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        search(fd, buffer, address, path, size);
        pp_sys_close(fd);
    }
    pp_unmap(buffer, BUFFER_SIZE);
}
