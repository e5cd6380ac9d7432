#include "debug_files.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/memory.h"
#include "mapped.h"

#define DEBUG_DIRECTORY "/usr/lib/debug/.build-id"
#define CACHE_DIRECTORY "debuginfod_client"

static const char *set_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Where debuginfod's client library keeps what it has fetched. */
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

char *pt_build_id_text(const void *bytes, size_t length)
{
    struct pt_buffer hex = {0};
    pt_buffer_text(&hex, "");
    for (size_t i = 0; i < length; i++)
        pt_buffer_format(&hex, "%02x", ((const unsigned char *)bytes)[i]);
    return hex.data;
}

static bool has_build_id(int descriptor, const char *wanted)
{
    const void *bytes;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
    ssize_t length = elf ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
    char *hex = length > 0 ? pt_build_id_text(bytes, (size_t)length) : NULL;
    bool same = hex && strcmp(hex, wanted) == 0;
    free(hex);
    elf_end(elf);
    return same;
}

int pt_open_build(const char *path, const char *build_id)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return -1;
    bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    if (regular)
        pt_mapped_watch(path, &status);
    if (regular && has_build_id(descriptor, build_id))
        return descriptor;
    close(descriptor);
    return -1;
}
