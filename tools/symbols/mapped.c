#include "mapped.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/memory.h"

struct watched {
    char *path;
    struct stat status;
};

static struct {
    struct watched *items;
    uint32_t count, capacity;
} watched_files;
static volatile sig_atomic_t cut;
static size_t page_size;

/* The kernel says so of a page that the file no longer has: it gets one of zeros, and libelf and libdw, which take
 * files as they are, go on as with any damaged one. */
static void put_zeros(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    void *page = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)(page_size - 1));
    cut = 1;
    if (info->si_code != BUS_ADRERR ||
        mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        signal(signal_number, SIG_DFL);
}

static void forget_files(void)
{
    for (uint32_t i = 0; i < watched_files.count; i++)
        free(watched_files.items[i].path);
    watched_files.count = 0;
}

void pt_mapped_begin(void)
{
    if (!page_size) {
        struct sigaction action = {.sa_sigaction = put_zeros, .sa_flags = SA_SIGINFO};
        page_size = (size_t)sysconf(_SC_PAGESIZE);
        sigaction(SIGBUS, &action, NULL);
    }
    forget_files();
    cut = 0;
}

void pt_mapped_watch(const char *path, const struct stat *status)
{
    watched_files.items = pt_grow(watched_files.items, &watched_files.capacity, (uint64_t)watched_files.count + 1,
                                  sizeof *watched_files.items);
    watched_files.items[watched_files.count++] = (struct watched){pt_strdup(path), *status};
}

static bool was_written(const struct watched *file)
{
    struct stat now;
    return stat(file->path, &now) == 0 && now.st_dev == file->status.st_dev && now.st_ino == file->status.st_ino &&
           (now.st_size != file->status.st_size || now.st_mtim.tv_sec != file->status.st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != file->status.st_mtim.tv_nsec);
}

bool pt_mapped_changed(void)
{
    bool changed = cut;
    for (uint32_t i = 0; i < watched_files.count; i++)
        changed |= was_written(&watched_files.items[i]);
    forget_files();
    return changed;
}
