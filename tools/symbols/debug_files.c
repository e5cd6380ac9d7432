/* SPDX-License-Identifier: Apache-2.0 */
#include "debug_files.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/memory.h"

#define DEBUG_DIRECTORY "/usr/lib/debug/.build-id"
#define CACHE_DIRECTORY "debuginfod_client"

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

/* Notes a file and its status. Call before the file is mapped. */
static void mapped_watch(struct pt_mapped *mapped, const char *path, const struct stat *status)
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

static const char *set_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Appends the directory in which debuginfod's client library keeps what it has fetched. */
static bool append_cache(struct pt_buffer *path)
{
    const char *own = set_variable("DEBUGINFOD_CACHE_PATH"), *cache = set_variable("XDG_CACHE_HOME"),
               *home = set_variable("HOME");
    if (own)
        pt_buffer_text(path, own);
    else if (cache)
        pt_buffer_format(path, "%s/" CACHE_DIRECTORY, cache);
    else if (home)
        pt_buffer_format(path, "%s/.cache/" CACHE_DIRECTORY, home);
    return path->length;
}

char *pt_debug_path(const char *build_id, unsigned place)
{
    struct pt_buffer path = {0};
    if (strlen(build_id) <= 2)
        return NULL;
    if (!place)
        pt_buffer_format(&path, DEBUG_DIRECTORY "/%.2s/%s.debug", build_id, build_id + 2);
    else if (append_cache(&path))
        pt_buffer_format(&path, "/%s/debuginfo", build_id);
    return path.data;
}

static bool has_dwarf(Elf *elf)
{
    size_t names;
    bool found = false;
    Elf_Scn *section = NULL;
    while (elf_getshdrstrndx(elf, &names) == 0 && !found && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS
                               ? elf_strptr(elf, names, header.sh_name)
                               : NULL;
        found = name && (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0);
    }
    return found;
}

/* Does pt_open_build and sets *dwarf to whether the file has debug information. */
static int open_build(const char *path, const char *build_id, struct pt_mapped *mapped, bool *dwarf)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return -1;
    bool same = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    if (same) {
        mapped_watch(mapped, path, &status);
        elf_version(EV_CURRENT);
        Elf *elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
        const void *bytes;
        ssize_t length = elf ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
        PT_AUTO_FREE char *hex = length > 0 ? pt_hex(bytes, (size_t)length) : NULL;
        same = hex && strcmp(hex, build_id) == 0;
        *dwarf = same && has_dwarf(elf);
        elf_end(elf);
    }
    if (same)
        return descriptor;
    close(descriptor);
    return -1;
}

int pt_open_build(const char *path, const char *build_id, struct pt_mapped *mapped)
{
    bool dwarf;
    return open_build(path, build_id, mapped, &dwarf);
}

static void consider(struct pt_debug_files *files, const char *path, const char *build_id, struct pt_mapped *mapped)
{
    bool dwarf;
    int descriptor = path && !files->dwarf ? open_build(path, build_id, mapped, &dwarf) : -1;
    if (descriptor < 0)
        return;
    close(descriptor);
    if (!files->image)
        files->image = pt_strdup(path);
    if (dwarf)
        files->dwarf = pt_strdup(path);
}

void pt_debug_files_find(struct pt_debug_files *files, const char *path, const char *build_id, struct pt_mapped *mapped)
{
    *files = (struct pt_debug_files){0};
    if (!*build_id)
        return;
    consider(files, path, build_id, mapped);
    for (unsigned place = 0; place < PT_DEBUG_PLACES; place++) {
        PT_AUTO_FREE char *separate = pt_debug_path(build_id, place);
        consider(files, separate, build_id, mapped);
    }
}

void pt_debug_files_free(struct pt_debug_files *files)
{
    free(files->image);
    free(files->dwarf);
    *files = (struct pt_debug_files){0};
}
