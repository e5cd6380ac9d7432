#include "proc_file.h"
#include "message.h"
#include "syscalls.h"
#include <fcntl.h>

#define PATH_BYTES 64

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

unsigned pp_kernel_thread_count(void)
{
    struct {
        unsigned long dev, ino, nlink, rest[18];
    } status;
    if (pp_syscall4(SYS_stat, (long)"/proc/self/task", (long)&status, 0, 0) != 0 || status.nlink < 3)
        return 0;
    return (unsigned)(status.nlink - 2);
}
