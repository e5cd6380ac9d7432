#include "pipe.h"
#include "../base/libc.h"
#include "../base/syscalls.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#define MAX_DESCRIPTORS 4096u /* a new one has the lowest number that is free */

static uint8_t open_before[MAX_DESCRIPTORS];

void pp_libunwind_pipe_before(void)
{
    for (int fd = 0; fd < (int)MAX_DESCRIPTORS; fd++)
        open_before[fd] = pp_syscall4(SYS_fcntl, fd, F_GETFD, 0, 0) >= 0;
}

static bool is_pipe(int fd, long mode, struct stat *status)
{
    return pp_syscall4(SYS_fstat, fd, (long)status, 0, 0) == 0 && S_ISFIFO(status->st_mode) &&
           (pp_syscall4(SYS_fcntl, fd, F_GETFL, 0, 0) & (O_ACCMODE | O_NONBLOCK)) == (mode | O_NONBLOCK);
}

/* Both ends of the only pipe that is new. */
static bool find_ends(int ends[2], struct stat *status)
{
    static const long modes[] = {O_RDONLY, O_WRONLY};
    struct stat other;
    unsigned found[2] = {0, 0};
    for (int fd = 0; fd < (int)MAX_DESCRIPTORS; fd++)
        for (unsigned end = 0; end < 2; end++)
            if (!open_before[fd] && is_pipe(fd, modes[end], end ? &other : status)) {
                ends[end] = fd;
                found[end]++;
            }
    return found[0] == 1 && found[1] == 1 && is_pipe(ends[0], O_RDONLY, status) && status->st_dev == other.st_dev &&
           status->st_ino == other.st_ino;
}

struct search {
    uintptr_t function;
    const int *ends, *found;
};

static bool holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && address >= info->dlpi_addr + info->dlpi_phdr[i].p_vaddr &&
            address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

/* In libunwind's own data: a pipe of one thread's (thread-local) is not there. */
static int find_numbers(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    (void)size;
    if (!holds(info, search->function))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_W))
            continue;
        const int *words = (const int *)((info->dlpi_addr + header->p_vaddr + 3) & ~(uintptr_t)3);
        const int *end = (const int *)((info->dlpi_addr + header->p_vaddr + header->p_memsz) & ~(uintptr_t)3);
        for (; words + 1 < end && !search->found; words++)
            if (words[0] == search->ends[0] && words[1] == search->ends[1])
                search->found = words;
    }
    return 1;
}

bool pp_libunwind_pipe_find(struct pp_libunwind *library, uintptr_t function)
{
    int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    int ends[2];
    struct stat status;
    struct search search = {.function = function, .ends = ends};
    *(void **)&iterate = pp_real_symbol(RTLD_DEFAULT, "dl_iterate_phdr");
    if (!iterate || !find_ends(ends, &status))
        return false;
    iterate(find_numbers, &search);
    library->pipe = search.found;
    library->pipe_device = status.st_dev;
    library->pipe_inode = status.st_ino;
    return library->pipe;
}
