/* SPDX-License-Identifier: Apache-2.0 */
#include "proc_file.h"
#include "message.h"
#include "syscalls.h"
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES    64
#define ENTRIES_BYTES 32768

size_t pp_read_file(const char *path, char *buffer, size_t size)
{
    int fd = pp_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    size_t length = 0;
    long n;
    while (length < size && (n = pp_sys_read(fd, buffer + length, size - length)) > 0)
        length += (size_t)n;
    pp_sys_close(fd);
    return length;
}

size_t pp_read_task_file(int tid, const char *leaf, char *buffer, size_t size)
{
    char path[PATH_BYTES];
    return pp_read_file(pp_format(path, sizeof path, "/proc/self/task/%u/%s", (unsigned)tid, leaf), buffer, size);
}

const char *pp_stat_field(const char *stat, unsigned number)
{
    const char *at = strrchr(stat, ')'); /* of the name, the second field, which may hold anything */
    for (unsigned field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    return at ? at + 1 : NULL;
}

uint64_t pp_status_mask(const char *status, const char *name)
{
    uint64_t mask = 0;
    size_t length = strlen(name);
    for (const char *line = status; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (strncmp(line, name, length) == 0 && strncmp(line + length, ":\t", 2) == 0)
            for (const char *digit = line + length + 2; *digit > ' '; digit++)
                mask = mask << 4 | (uint64_t)(*digit <= '9' ? *digit - '0' : *digit - 'a' + 10);
    return mask;
}

void pp_each_entry(int directory, unsigned most, void (*each)(const char *name, void *argument), void *argument)
{
    static _Alignas(8) char entries[ENTRIES_BYTES];
    long bytes;
    while (most && (bytes = pp_syscall4(SYS_getdents64, directory, (long)entries, sizeof entries, 0)) > 0)
        for (long at = 0; at < bytes && most; most--) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            each(entry->d_name, argument);
            at += entry->d_reclen;
        }
}

unsigned pp_kernel_thread_count(void)
{
    struct stat status;
    if (pp_sys_stat("/proc/self/task", &status, 0) != 0 || status.st_nlink < 3)
        return 0;
    return (unsigned)(status.st_nlink - 2);
}
