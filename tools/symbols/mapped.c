/* SPDX-License-Identifier: Apache-2.0 */
#include "mapped.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/memory.h"

/* SIGBUS comes in the thread that reads. */
static _Thread_local volatile sig_atomic_t watching, cut;

/* The kernel raises SIGBUS for a page that the file no longer has: it gets a page of zeros, and libelf and libdw, which
 * take files as they are, go on as with any damaged one. */
static void put_zeros(int signal_number, siginfo_t *info, void *data)
{
    (void)data;
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)(page_size - 1));
    cut = 1;
    if (!watching || info->si_code != BUS_ADRERR ||
        mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        signal(signal_number, SIG_DFL);
}

void pt_mapped_protect(void)
{
    struct sigaction action = {.sa_sigaction = put_zeros, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
}

void pt_mapped_begin(struct pt_mapped *mapped)
{
    *mapped = (struct pt_mapped){0};
    watching = 1;
    cut = 0;
}

void pt_mapped_watch(struct pt_mapped *mapped, const char *path, const struct stat *status)
{
    *PT_APPEND(mapped) = (struct pt_mapped_file){pt_strdup(path), *status};
}

static bool was_written(const struct pt_mapped_file *file)
{
    struct stat now;
    return stat(file->path, &now) == 0 && now.st_dev == file->status.st_dev && now.st_ino == file->status.st_ino &&
           (now.st_size != file->status.st_size || now.st_mtim.tv_sec != file->status.st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != file->status.st_mtim.tv_nsec);
}

bool pt_mapped_end(struct pt_mapped *mapped)
{
    bool changed = cut;
    for (uint32_t i = 0; i < mapped->count; i++) {
        changed |= was_written(&mapped->items[i]);
        free(mapped->items[i].path);
    }
    free(mapped->items);
    watching = 0;
    return changed;
}
