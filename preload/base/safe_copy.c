/* SPDX-License-Identifier: Apache-2.0 */
#include "safe_copy.h"
#include "arena.h"
#include "process.h"
#include "syscalls.h"
#include <fcntl.h>

static bool copy_by_file(char *to, uintptr_t from, size_t size)
{
    int fd = pp_sys_open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    size_t done = 0;
    while (done < size) {
        long r = pp_sys_pread(fd, to + done, size - done, from + done);
        if (r <= 0)
            break;
        done += (size_t)r;
    }
    pp_sys_close(fd);
    return done == size;
}

bool pp_safe_copy(void *to, uintptr_t from, size_t size)
{
    size_t done = 0;
    int pid = pp_process_own_pid();
    while (done < size) {
        struct iovec local = {(char *)to + done, size - done};
        struct iovec remote = {(void *)(from + done), size - done};
        long r = pp_sys_safe_copy(pid, &local, 1, &remote, 1);
        if (r == -14 /* EFAULT: it is not there */)
            return false;
        if (r <= 0)
            return copy_by_file((char *)to + done, from + done, size - done);
        done += (size_t)r;
    }
    return true;
}

void *pp_safe_copy_mapped(uintptr_t from, size_t size)
{
    void *to = pp_map(size);
    if (to && !pp_safe_copy(to, from, size)) {
        pp_unmap(to, size);
        return NULL;
    }
    return to;
}
